// SPDX-License-Identifier: MIT
// Replaces operators that a device has no kernel for, or a file format no name, by operators that it has.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/device/device.hpp"
#include "core/graph/graph.hpp"

namespace tyto::run {

/// The target of lowering.
struct LoweringTarget {
  /// Whether it has the operator, on operands and with results of these types.
  std::function<bool(const core::OpDef&, std::span<const core::TensorType> operands,
                     std::span<const core::TensorType> results)>
      runs;
  /// The same of a node of a graph, leaves and regions included.
  std::function<bool(const core::Graph&, const core::GraphNode&)> runs_node;
};

/// The operator on operands of these types, made of operators that the device runs itself: a graph whose inputs are the
/// operands and whose outputs are the results. Nothing where the device has a kernel, or where a part has none either.
std::optional<core::Graph> lowering_for(core::Device& device, core::OpId op, const core::Attributes& attributes,
                                        std::span<const core::TensorType> inputs,
                                        std::span<const core::TensorType> results);

/// The graph with each operator lowered for which lowering_for() has something.
core::Graph lowered(core::Graph graph, core::Device& device);

/// The same for another target.
core::Graph lowered(core::Graph graph, const LoweringTarget& target);

}  // namespace tyto::run
