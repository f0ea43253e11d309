// Weights back from their packed layout, for states whose plain contents were let go of.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/value/storage.hpp"

namespace tyto::run {

/// How the contents of an input become packed weights: operators of one operand each, the last of which packs.
struct PackingPath {
  core::TensorType type;  // of the input
  std::vector<std::pair<core::OpId, std::shared_ptr<const core::Attributes>>> operators;
};

/// The path from the graph's input to what the node packs; null where an element may not be among the packed ones.
std::shared_ptr<const PackingPath> reversible_path(const core::Graph& graph, std::uint32_t packing_node);

/// The input's contents again, bit for bit. Packing moves elements and adds zeros, so packing the elements' numbers
/// tells where each of them went.
core::Array unpacked(const PackingPath& path, const std::byte* packed);

}  // namespace tyto::run
