// SPDX-License-Identifier: MIT
// Parameters of random draws that belong to no distribution.
#pragma once

#include "core/graph/attributes.hpp"
#include "core/graph/operator.hpp"

namespace tyto::core {

/// Throws ValueError for parameters that the operator has no distribution for. Its rule for types asks, so that no node
/// has such parameters.
void check_parameters(OpId op, const RandomAttributes& draw);

}  // namespace tyto::core
