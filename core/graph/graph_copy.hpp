// SPDX-License-Identifier: MIT
// Copies a graph node by node into a builder; between two nodes the caller adds what replaces others.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace tyto::core {

class GraphCopy {
 public:
  GraphCopy(const Graph& from, GraphBuilder& to) : from_(from), to_(to), places_(from.port_count(), no_port) {}
  GraphCopy(const GraphCopy&) = delete;
  GraphCopy& operator=(const GraphCopy&) = delete;

  /// Where a port of the old graph is in the new one; `no_port` until it is copied or set.
  Port& operator[](Port old) { return places_[old]; }
  Port operator[](Port old) const { return places_[old]; }
  bool has(const GraphNode& node) const { return node.result_count != 0 && places_[node.first_result] != no_port; }

  /// Copies all inputs, which keep their numbers.
  void add_inputs();
  /// Copies the node, on the new ports of its operands.
  void add(const GraphNode& node) { add(node, node.label); }
  void add(const GraphNode& node, const std::shared_ptr<const std::string>& label);
  /// Copies the node on other operands, ports of the new graph; returns the first result, without placing it.
  Port add_on(std::span<const Port> operands, const GraphNode& node, std::shared_ptr<const Attributes> attributes,
              const std::shared_ptr<const std::string>& label);
  /// Places the node's results from `first` on.
  void place(const GraphNode& node, Port first) {
    for (std::uint32_t r = 0; r < node.result_count; ++r) places_[node.first_result + r] = first + r;
  }
  /// Outputs, updates and draws of the old graph, and the end of the new one.
  Graph finish();

 private:
  const Graph& from_;
  GraphBuilder& to_;
  std::vector<Port> places_;
  std::vector<Port> operands_;     // of the node that is being added
  std::vector<TensorType> types_;  // of its results
};

}  // namespace tyto::core
