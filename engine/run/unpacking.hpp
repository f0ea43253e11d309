// SPDX-License-Identifier: MIT
// Restores weights from their packed layout, for states whose plain contents were released.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/value/storage.hpp"

namespace tyto::run {

/// How the contents of an input or constant become packed weights: views of one operand each, and what packs them at
/// last.
struct PackingPath {
  core::TensorType type;  // of what is packed
  std::vector<std::pair<core::OpId, std::shared_ptr<const core::Attributes>>> operators;
  bool reversible = false;  // every element is among the packed ones
};

/// The path from an input or constant of the graph to what the node packs; nothing where that is no view of one.
std::optional<PackingPath> packing_path(const core::Graph& graph, std::uint32_t packing_node);

/// The input's contents again, bit for bit, where the path is reversible. Packing moves elements and adds zeros, so
/// packing the elements' numbers tells where each of them went.
core::Array unpacked(const PackingPath& path, const core::Array& packed);

}  // namespace tyto::run
