// SPDX-License-Identifier: MIT
// The editor of a graph: it replaces tensors by others, counts their consumers, and removes at once what has none left.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/graph_names.hpp"

namespace tyto::optimiser {

/// Every edit is near constant in time, whatever the number of consumers: a replaced tensor leaves a forwarding mark,
/// and inputs are brought up to date when they are looked at.
///
/// Each node has a position: its own in the graph given, or, for a node made by a rewrite, that of the node rewritten.
/// The order keeps to positions, and to age within one, save that inputs always precede their consumers.
class GraphEditor {
 public:
  using Index = std::uint32_t;

  explicit GraphEditor(core::Graph graph);
  /// The graph as it is now; unchanged, down to its numbering, when nothing was edited.
  core::Graph finish();

  /// Nodes that live, inputs before consumers.
  std::span<const Index> order();
  /// Calls visit(index) for each live node in order, and for the nodes that this makes right after.
  template <class Visit>
  void sweep(Visit&& visit);

  const core::GraphNode& node(Index index) const { return data_.nodes[index]; }
  const core::OpDef& definition(Index index) const {
    return operators_[static_cast<std::size_t>(data_.nodes[index].op)];
  }
  const core::Attributes& attributes(Index index) const;
  /// The attributes of a node that is known to have attributes of this kind.
  template <class A>
  const A& attributes_as(Index index) const {
    return std::get<A>(*data_.nodes[index].attributes);
  }
  bool is_alive(Index index) const { return alive_[index]; }
  /// The node's inputs, up to date. Valid until the next node is added.
  std::span<const core::Port> inputs(Index index) {
    const core::GraphNode& each = data_.nodes[index];
    core::Port* const first = data_.edges.data() + each.first_input;
    for (std::uint32_t i = 0; i < each.input_count; ++i) first[i] = resolve(first[i]);
    return {first, each.input_count};
  }
  core::Port input(Index index, std::size_t i) { return inputs(index)[i]; }
  /// Nodes that there ever were; indices are below it.
  Index index_limit() const { return static_cast<Index>(data_.nodes.size()); }

  /// The tensor that replaces a tensor, or itself.
  core::Port resolve(core::Port port) { return forward_[port] == port ? port : forwarded(port); }
  Index producer(core::Port port) { return data_.producers[resolve(port)]; }
  /// Whose elements the tensor has, seen through any views.
  Index source(core::Port port);
  const core::TensorType& type(core::Port port) const { return data_.types[port]; }
  const Shape& shape(core::Port port) const { return data_.types[port].shape; }
  DType dtype(core::Port port) const { return data_.types[port].dtype; }
  /// Inputs of nodes, outputs and updates that name this tensor.
  std::uint32_t consumers(core::Port port) { return consumers_[resolve(port)]; }
  /// Live nodes of an operator.
  std::uint32_t count(core::OpId op) const { return counts_[static_cast<std::size_t>(op)]; }
  std::size_t size() const { return live_; }
  std::span<const core::GraphInput> graph_inputs() const { return data_.inputs; }
  std::span<const core::GraphUpdate> updates() const { return data_.updates; }
  std::span<const core::Port> outputs() const { return data_.outputs; }

  /// Adds an operator at the position and with the label of node `at`. Returns its first result.
  core::Port add(Index at, core::OpId op, core::Attributes attributes, std::span<const core::Port> inputs);
  core::Port add(Index at, core::OpId op, core::Attributes attributes, std::initializer_list<core::Port> inputs) {
    return add(at, op, std::move(attributes), std::span<const core::Port>(inputs.begin(), inputs.size()));
  }
  core::Port add(Index at, core::OpId op, std::shared_ptr<const core::Attributes> attributes,
                 std::span<const core::Port> inputs);
  /// Gives the node that made `port` the label of `of`, where that has one.
  void label_as(core::Port port, const core::GraphNode& of);
  /// A tensor filled with one scalar.
  core::Port add_scalar(Index at, const Scalar& value, DType dtype, const Shape& shape = {});
  core::Port add_constant(Index at, core::Array array);

  /// Consumers of `old` read `by` from now on; types and shapes must agree. Nodes left without consumers go.
  void replace(core::Port old, core::Port by);
  /// The same for the only result of a node with an effect, which the node that made `by` has now: the node goes.
  void replace_effect(Index index, core::Port by);
  /// Removes a node without consumers, and the nodes that only it read.
  void remove(Index index);
  /// Releases the elements of removed constants, which finish() would do.
  void discard_dead_constants();
  /// A node that stays though nobody reads it: an input of the graph, or one with an effect.
  bool is_kept(Index index) const;

  /// Grows with each edit; equal numbers mean that nothing was changed in between.
  std::uint64_t edits() const { return edits_; }

 private:
  core::Port forwarded(core::Port port);
  bool is_unread(Index index) const;
  std::vector<Index> topological(std::span<const Index> wanted);
  void release(Index index);
  Index add_node(Index at, core::OpId op, std::shared_ptr<const core::Attributes> attributes,
                 std::span<const core::Port> inputs);

  core::GraphData data_;
  std::span<const core::OpDef> operators_ = core::op_table();
  std::vector<core::Port> forward_;
  std::vector<std::uint32_t> consumers_;
  std::vector<bool> alive_;
  std::vector<std::uint32_t> positions_;
  std::vector<Index> order_;
  std::size_t ordered_ = 0;  // nodes that stand in order_
  std::size_t live_ = 0;
  std::size_t live_when_ordered_ = 0;
  std::array<std::uint32_t, core::op_count> counts_{};
  std::uint64_t edits_ = 0;
  std::vector<Index> dying_;
  Index without_effect_ = UINT32_MAX;  // a node whose effect another one has
};

template <class Visit>
void GraphEditor::sweep(Visit&& visit) {
  (void)order();
  const std::size_t known = order_.size();
  for (std::size_t i = 0; i < known; ++i) {
    if (!alive_[order_[i]]) continue;
    std::size_t made = data_.nodes.size();
    visit(order_[i]);
    for (; made < data_.nodes.size(); ++made) {
      if (alive_[made]) visit(static_cast<Index>(made));
    }
  }
}

}  // namespace tyto::optimiser
