// SPDX-License-Identifier: MIT
// Compares and hashes regions by the structure of their graphs, not by identity.
#include "core/graph/region.hpp"

#include "core/graph/graph.hpp"

namespace tyto::core {

Region::Region(Graph graph) : graph_(std::make_shared<const Graph>(std::move(graph))), hash_(hash_of(*graph_)) {}

bool operator==(const Region& a, const Region& b) {
  if (a.graph_ == b.graph_) return true;
  return a.graph_ != nullptr && b.graph_ != nullptr && a.hash_ == b.hash_ && same_structure(*a.graph_, *b.graph_);
}

}  // namespace tyto::core
