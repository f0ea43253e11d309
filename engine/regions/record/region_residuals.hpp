// SPDX-License-Identifier: MIT
// Chooses what a loop keeps of each iteration for its gradient: the fewest bytes that spare it costly operators.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/symbol.hpp"

namespace tyto::run {

/// A minimum cut through the values that gradients depend on, between results of costly operators and what is computed
/// of the `cotangents`: those of the `candidates` that are to be kept. Everything else that the gradients need is
/// computed of these and of parameters by element-wise operators and views. `since`: what is older stands outside.
std::vector<Value> residuals_of(std::span<const Value> gradients, std::span<const Value> cotangents,
                                std::span<const Value> candidates, std::uint64_t since);

}  // namespace tyto::run
