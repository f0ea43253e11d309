# SPDX-License-Identifier: MIT
"""How the golden cases are computed, one module an operator family."""
