// SPDX-License-Identifier: MIT
// TYTO_INDEPENDENT, a pragma for the loop that follows: no element depends on an earlier one, since the output is an
// operand itself or apart from all of them.
#pragma once

#if defined(__clang__)
#define TYTO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TYTO_INDEPENDENT _Pragma("GCC ivdep")
#endif
