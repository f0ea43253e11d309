// SPDX-License-Identifier: MIT
// A region: the closed graph that a node holds, as the body of a loop or an arm of a branch.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tyto::core {

class Graph;

/// A graph shared by the nodes that hold it. It is closed: all that it uses comes through its inputs, which are
/// operands of the node. Two regions are equal when their graphs have the same structure.
class Region {
 public:
  Region() = default;
  explicit Region(Graph graph);

  const Graph& graph() const { return *graph_; }
  explicit operator bool() const { return graph_ != nullptr; }
  /// The hash of the structure; computed once.
  std::size_t hash() const { return hash_; }
  friend bool operator==(const Region& a, const Region& b);

 private:
  std::shared_ptr<const Graph> graph_;
  std::size_t hash_ = 0;
};

}  // namespace tyto::core
