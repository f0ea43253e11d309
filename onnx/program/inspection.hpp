// SPDX-License-Identifier: MIT
// Inspects a model: lists its nodes with types and shapes of their results, and makes inner values outputs.
#pragma once

#include <string>
#include <vector>

#include "onnx/program/program.hpp"
#include "tyto/onnx.hpp"

namespace tyto::onnx {

std::vector<ModelNode> nodes_of(const GraphMessage& graph);

/// Makes outputs of values inside of the graph. Throws IndexError where it has no value of a name.
void add_outputs(const std::string& file, GraphMessage& graph, const std::vector<std::string>& names);

/// The results of each step, recorded with these inputs: type and shape, or neither where they depend on elements or
/// where nobody reads it.
std::vector<ModelTensor> values_of(const Program& program, Slots slots);

}  // namespace tyto::onnx
