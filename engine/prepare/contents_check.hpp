// SPDX-License-Identifier: MIT
// Checks a plan by the contents of memory: every step must find the values that it is meant to read.
#pragma once

#include <string>
#include <vector>

#include "engine/prepare/planned_program.hpp"

namespace tyto::run {

/// Follows the contents of memory, byte for byte, through the steps, with loops run a few times and arms chosen in
/// turn. What is wrong, one line a fault; empty when each step reads what its node's operands are, each result is left
/// where it belongs, and no step writes over what it still reads.
std::vector<std::string> check_contents(const PlannedProgram& program);

}  // namespace tyto::run
