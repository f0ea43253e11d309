// SPDX-License-Identifier: MIT
// Records loops and branches as nodes, with the values that their gradients will need.
#pragma once

#include <span>
#include <vector>

#include "core/graph/attributes.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/symbol.hpp"

namespace tyto::run {

/// Emits a loop. One that a gradient may be taken of also stacks the carries with which each iteration begins, and what
/// else its gradient is not to compute again.
/// Returns the results that the attributes speak of, without those stacks.
std::vector<Value> emit_loop(core::Mode mode, core::IterationAttributes loop, std::span<const Value> operands);

/// Applies a node's operator to other operands, which may be tracked though the node's were not. Returns all results
/// that the node had.
std::vector<Value> emit_again(core::Mode mode, core::OpId op, const core::Attributes& attributes,
                              std::span<const Value> operands);

/// Further ports of a loop's body that are better stacked together with its carries, because the loop's gradient would
/// have to compute them again at a cost.
std::vector<core::Port> residual_ports(const core::IterationAttributes& loop, std::span<const Value> operands,
                                       std::span<const Value> results);

}  // namespace tyto::run
