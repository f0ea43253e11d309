// Operators that a device has no kernel for, made of operators that it has.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/device.hpp"
#include "core/graph.hpp"

namespace tyto::run {

/// The operator on operands of these types, made of operators that the device runs itself: a graph whose inputs are the
/// operands and whose outputs are the results. Nothing where the device has a kernel, or where a part has none either.
std::optional<core::Graph> lowering_for(core::Device& device, core::OpId op, const core::Attributes& attributes,
                                        std::span<const core::TensorType> inputs,
                                        std::span<const core::TensorType> results);

/// The graph with each operator lowered for which lowering_for() has something.
core::Graph lowered(core::Graph graph, core::Device& device);

}  // namespace tyto::run
