// SPDX-License-Identifier: MIT
// Sorts the nodes of a graph topologically: each behind the nodes whose results it reads.
#pragma once

#include <string>
#include <vector>

#include "onnx/file/model_file.hpp"

namespace tyto::onnx {

/// The nodes in an order in which each follows what it reads, graphs inside of nodes included; the file's order where
/// that is one. The standard asks files for such an order, and converters that add nodes at the end forget it. Throws
/// IoError that names the nodes of a cycle.
std::vector<const NodeMessage*> in_order(const std::string& file, const std::vector<const NodeMessage*>& nodes);

}  // namespace tyto::onnx
