// SPDX-License-Identifier: MIT
// Finds the minimum cut by augmenting paths: bodies have tens of nodes, seldom hundreds.
#include "engine/regions/record/region_residuals.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/graph/op_ids.hpp"
#include "core/graph/operator.hpp"

namespace tyto::run {

namespace {

using core::Node;

constexpr std::int64_t unlimited = INT64_MAX / 4;
constexpr std::size_t most_nodes = 4000;  // beyond them the search takes longer than it saves

bool is_costly(const Node& node) {
  const core::OpDef& def = core::definition(node);
  if (node.results().size() != 1 || node.inputs().empty()) return false;
  return !def.is(core::Traits::elementwise) && !def.is(core::Traits::view) && node.op() != core::OpId::cast &&
         node.op() != core::OpId::copy;
}

std::int64_t bytes_of(const Node& node) {
  const core::TensorType& type = node.results()[0].type;
  return std::max<std::int64_t>(1, element_count(type.shape) * static_cast<std::int64_t>(size_of(type.dtype)));
}

/// A network of capacities; each node of the program is an edge from its entry to its exit.
class Network {
 public:
  explicit Network(std::size_t vertices) : first_(vertices, none) {}

  void connect(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
    add(from, to, capacity);
    add(to, from, 0);
  }

  /// Sends as much as possible, then says which vertices could send more to the sink: of several minimum cuts theirs
  /// is the one that leaves least to be computed. Empty where nothing separates source and sink.
  std::vector<bool> open_to_sink(std::uint32_t source, std::uint32_t sink) {
    for (;;) {
      const std::vector<std::uint32_t> arrived = search(source);
      if (arrived[sink] == none) break;
      std::int64_t least = unlimited;
      for (std::uint32_t at = sink; at != source; at = edges_[arrived[at] ^ 1].to) {
        least = std::min(least, edges_[arrived[at]].capacity);
      }
      for (std::uint32_t at = sink; at != source; at = edges_[arrived[at] ^ 1].to) {
        edges_[arrived[at]].capacity -= least;
        edges_[arrived[at] ^ 1].capacity += least;
      }
      if (least == unlimited) return {};
    }
    std::vector<bool> open(first_.size(), false);
    open[sink] = true;
    std::vector<std::uint32_t> queue{sink};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (std::uint32_t e = first_[queue[i]]; e != none; e = edges_[e].next) {
        const std::uint32_t from = edges_[e].to;
        if (edges_[e ^ 1].capacity == 0 || open[from]) continue;
        open[from] = true;
        queue.push_back(from);
      }
    }
    return open;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Edge {
    std::uint32_t to;
    std::uint32_t next;  // of the same vertex
    std::int64_t capacity;
  };

  void add(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
    edges_.push_back({to, first_[from], capacity});
    first_[from] = static_cast<std::uint32_t>(edges_.size() - 1);
  }

  // The edge by which a breadth-first search reaches each vertex.
  std::vector<std::uint32_t> search(std::uint32_t source) const {
    std::vector<std::uint32_t> arrived(first_.size(), none);
    std::vector<std::uint32_t> queue{source};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (std::uint32_t e = first_[queue[i]]; e != none; e = edges_[e].next) {
        const std::uint32_t to = edges_[e].to;
        if (edges_[e].capacity == 0 || to == source || arrived[to] != none) continue;
        arrived[to] = e;
        queue.push_back(to);
      }
    }
    return arrived;
  }

  std::vector<std::uint32_t> first_;
  std::vector<Edge> edges_;
};

}  // namespace

std::vector<Value> residuals_of(std::span<const Value> gradients, std::span<const Value> cotangents,
                                std::span<const Value> candidates, std::uint64_t since) {
  // Inputs before consumers: they are older.
  std::vector<Node*> nodes;
  std::unordered_map<const Node*, std::uint32_t> number;
  std::vector<Node*> stack;
  for (const Value& gradient : gradients) stack.push_back(gradient.node());
  while (!stack.empty()) {
    Node* const node = stack.back();
    stack.pop_back();
    if (node->sequence() < since || !number.emplace(node, 0).second) continue;
    nodes.push_back(node);
    for (const Value& input : node->inputs()) stack.push_back(input.node());
  }
  if (nodes.size() > most_nodes) return {};
  std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  for (std::uint32_t i = 0; i < nodes.size(); ++i) number[nodes[i]] = i;
  std::vector<bool> backward(nodes.size(), false);
  for (const Value& cotangent : cotangents) {
    if (const auto found = number.find(cotangent.node()); found != number.end()) backward[found->second] = true;
  }
  std::unordered_map<const Node*, bool> keepable;
  for (const Value& candidate : candidates) keepable[candidate.node()] = true;

  const auto count = static_cast<std::uint32_t>(nodes.size());
  const std::uint32_t source = 2 * count;
  const std::uint32_t sink = source + 1;
  Network network(sink + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Node& node = *nodes[i];
    for (const Value& input : node.inputs()) {
      const auto found = number.find(input.node());
      if (found != number.end() && backward[found->second]) backward[i] = true;
    }
    for (const Value& input : node.inputs()) {
      const auto found = number.find(input.node());
      if (found == number.end() || backward[found->second]) continue;
      // Values that a node of the gradient reads are needed, whatever else reads them.
      network.connect(2 * found->second + 1, backward[i] ? sink : 2 * i, unlimited);
    }
    if (backward[i]) continue;
    const bool kept = keepable.contains(&node);
    network.connect(2 * i, 2 * i + 1, kept ? bytes_of(node) : unlimited);
    if (kept && is_costly(node)) network.connect(source, 2 * i, unlimited);
  }
  for (const Value& gradient : gradients) {
    const auto found = number.find(gradient.node());
    if (found != number.end() && !backward[found->second]) network.connect(2 * found->second + 1, sink, unlimited);
  }
  const std::vector<bool> open = network.open_to_sink(source, sink);
  std::vector<Value> residuals;
  if (open.empty()) return residuals;
  for (const Value& candidate : candidates) {
    const auto found = number.find(candidate.node());
    if (found == number.end()) continue;
    if (!open[2 * found->second] && open[2 * found->second + 1]) residuals.push_back(candidate);
  }
  return residuals;
}

}  // namespace tyto::run
