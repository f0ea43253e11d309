// SPDX-License-Identifier: MIT
// Forwards replaced tensors, counts consumers and orders nodes.
#include "optimiser/passes/graph_editor.hpp"

#include <algorithm>
#include <numeric>

#include "core/graph/op_ids.hpp"

namespace tyto::optimiser {

GraphEditor::GraphEditor(core::Graph graph) : data_(std::move(graph).take()) {
  const std::size_t nodes = data_.nodes.size();
  forward_.resize(data_.types.size());
  std::iota(forward_.begin(), forward_.end(), Port{0});
  consumers_.assign(data_.types.size(), 0);
  alive_.assign(nodes, true);
  positions_.resize(nodes);
  std::iota(positions_.begin(), positions_.end(), 0u);
  order_.resize(nodes);
  std::iota(order_.begin(), order_.end(), Index{0});
  ordered_ = live_ = live_when_ordered_ = nodes;
  for (const GraphNode& each : data_.nodes) ++counts_[static_cast<std::size_t>(each.op)];
  for (const Port port : data_.edges) ++consumers_[port];
  for (const Port port : data_.outputs) ++consumers_[port];
  for (const core::GraphUpdate& update : data_.updates) ++consumers_[update.port];
}

const core::Attributes& GraphEditor::attributes(Index index) const {
  const auto& attributes = data_.nodes[index].attributes;
  return attributes ? *attributes : core::no_attributes;
}

Port GraphEditor::forwarded(Port port) {
  Port last = port;
  while (forward_[last] != last) last = forward_[last];
  while (forward_[port] != last) port = std::exchange(forward_[port], last);
  return last;
}

std::span<const GraphEditor::Index> GraphEditor::order() {
  const bool some_died = live_ != live_when_ordered_ + (data_.nodes.size() - ordered_);
  if (ordered_ == data_.nodes.size() && !some_died) return order_;
  std::vector<Index> made(data_.nodes.size() - ordered_);
  std::iota(made.begin(), made.end(), static_cast<Index>(ordered_));
  const auto earlier = [this](Index a, Index b) {
    return positions_[a] != positions_[b] ? positions_[a] < positions_[b] : a < b;
  };
  std::erase_if(order_, [this](Index index) { return !alive_[index]; });
  std::erase_if(made, [this](Index index) { return !alive_[index]; });
  if (!made.empty()) {
    std::sort(made.begin(), made.end(), earlier);
    std::vector<Index> merged(order_.size() + made.size());
    std::merge(order_.begin(), order_.end(), made.begin(), made.end(), merged.begin(), earlier);
    order_ = topological(merged);
  }
  ordered_ = data_.nodes.size();
  live_when_ordered_ = live_;
  return order_;
}

// The wanted order, with inputs that stand too late brought forward.
std::vector<GraphEditor::Index> GraphEditor::topological(std::span<const Index> wanted) {
  std::vector<Index> out;
  out.reserve(wanted.size());
  std::vector<std::uint8_t> placed(data_.nodes.size(), 0);
  const auto is_placed = [&](Port input) { return placed[data_.producers[input]] != 0; };
  std::vector<Index> stack;
  for (const Index root : wanted) {
    if (placed[root] != 0) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const Index index = stack.back();
      const std::size_t depth = stack.size();
      for (const Port input : inputs(index)) {
        if (!is_placed(input)) stack.push_back(data_.producers[input]);
      }
      if (stack.size() != depth) continue;
      stack.pop_back();
      if (placed[index] != 0) continue;
      placed[index] = 1;
      out.push_back(index);
    }
  }
  return out;
}

GraphEditor::Index GraphEditor::add_node(Index at, core::OpId op, std::shared_ptr<const core::Attributes> attributes,
                                         std::span<const Port> inputs) {
  std::array<Port, 4> few;
  std::vector<Port> many;
  if (inputs.size() > few.size()) many.resize(inputs.size());
  const std::span<Port> current(inputs.size() > few.size() ? many.data() : few.data(), inputs.size());
  std::vector<core::TensorType> types;
  types.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    current[i] = resolve(inputs[i]);
    types.push_back(data_.types[current[i]]);
  }
  const std::vector<core::TensorType> results =
      core::infer_types(core::definition(op), attributes ? *attributes : core::no_attributes, types);
  const auto index = static_cast<Index>(data_.nodes.size());
  const auto first = static_cast<Port>(data_.types.size());
  GraphNode made{op,
                 std::move(attributes),
                 static_cast<std::uint32_t>(data_.edges.size()),
                 static_cast<std::uint32_t>(current.size()),
                 first,
                 static_cast<std::uint32_t>(results.size()),
                 data_.nodes[at].label};
  data_.nodes.push_back(std::move(made));
  data_.edges.insert(data_.edges.end(), current.begin(), current.end());
  data_.types.insert(data_.types.end(), results.begin(), results.end());
  data_.producers.resize(data_.types.size(), index);
  for (Port port = first; port < data_.types.size(); ++port) forward_.push_back(port);
  consumers_.resize(data_.types.size(), 0);
  for (const Port input : current) ++consumers_[input];
  alive_.push_back(true);
  positions_.push_back(positions_[at]);
  ++counts_[static_cast<std::size_t>(op)];
  ++live_;
  ++edits_;
  return index;
}

GraphEditor::Index GraphEditor::source(Port port) {
  Index index = producer(port);
  while (definition(index).is(core::Traits::view) && node(index).input_count != 0) index = producer(input(index, 0));
  return index;
}

void GraphEditor::label_as(Port port, const GraphNode& of) {
  if (of.label != nullptr) data_.nodes[producer(port)].label = of.label;
}

Port GraphEditor::add(Index at, core::OpId op, std::shared_ptr<const core::Attributes> attributes,
                      std::span<const Port> inputs) {
  return data_.nodes[add_node(at, op, std::move(attributes), inputs)].first_result;
}

Port GraphEditor::add(Index at, core::OpId op, core::Attributes attributes, std::span<const Port> inputs) {
  std::shared_ptr<const core::Attributes> shared;
  if (!std::holds_alternative<core::NoAttributes>(attributes)) {
    shared = std::make_shared<const core::Attributes>(std::move(attributes));
  }
  return add(at, op, std::move(shared), inputs);
}

Port GraphEditor::add_scalar(Index at, const Scalar& value, DType dtype, const Shape& shape) {
  return add(at, core::OpId::fill, core::RangeAttributes{shape, dtype, value, 0}, {});
}

Port GraphEditor::add_constant(Index at, core::Array array) {
  return add(at, core::OpId::constant, core::ConstantAttributes{std::move(array)}, {});
}

void GraphEditor::replace(Port old, Port by) {
  old = resolve(old);
  by = resolve(by);
  if (old == by) return;
  consumers_[by] += consumers_[old];
  consumers_[old] = 0;
  forward_[old] = by;
  ++edits_;
  release(data_.producers[old]);
}

bool GraphEditor::is_unread(Index index) const {
  const GraphNode& each = data_.nodes[index];
  for (std::uint32_t i = 0; i < each.result_count; ++i) {
    if (consumers_[each.first_result + i] != 0) return false;
  }
  return true;
}

void GraphEditor::replace_effect(Index index, Port by) {
  without_effect_ = index;
  replace(data_.nodes[index].first_result, by);
  remove(index);  // where nobody read it, nothing was replaced
  without_effect_ = UINT32_MAX;
}

bool GraphEditor::is_kept(Index index) const {
  const GraphNode& each = data_.nodes[index];
  if (each.op == core::OpId::read && each.input_count == 0) return true;
  return core::has_effect(each) && index != without_effect_;
}

void GraphEditor::remove(Index index) {
  if (alive_[index] && is_unread(index)) release(index);
}

void GraphEditor::release(Index index) {
  dying_.push_back(index);
  while (!dying_.empty()) {
    const Index each = dying_.back();
    dying_.pop_back();
    if (!alive_[each] || is_kept(each) || !is_unread(each)) continue;
    alive_[each] = false;
    --live_;
    --counts_[static_cast<std::size_t>(data_.nodes[each].op)];
    ++edits_;
    for (const Port input : inputs(each)) {
      if (--consumers_[input] == 0) dying_.push_back(data_.producers[input]);
    }
  }
}

void GraphEditor::discard_dead_constants() {
  for (Index index = 0; index < index_limit(); ++index) {
    if (!alive_[index] && data_.nodes[index].op == core::OpId::constant) data_.nodes[index].attributes = nullptr;
  }
}

core::Graph GraphEditor::finish() {
  if (edits_ == 0) return core::Graph(std::move(data_));
  const std::span<const Index> kept = order();
  core::GraphData out;
  out.nodes.reserve(kept.size());
  out.types.reserve(data_.types.size());
  out.producers.reserve(data_.types.size());
  out.edges.reserve(data_.edges.size());
  std::vector<Port> renamed(data_.types.size(), core::no_port);
  for (const Index index : kept) {
    GraphNode each = std::move(data_.nodes[index]);
    const auto first_input = static_cast<std::uint32_t>(out.edges.size());
    for (std::uint32_t i = 0; i < each.input_count; ++i) {
      out.edges.push_back(renamed[resolve(data_.edges[each.first_input + i])]);
    }
    each.first_input = first_input;
    for (std::uint32_t i = 0; i < each.result_count; ++i) {
      const Port port = each.first_result + i;
      renamed[port] = static_cast<Port>(out.types.size());
      out.types.push_back(std::move(data_.types[port]));
      out.producers.push_back(static_cast<std::uint32_t>(out.nodes.size()));
    }
    each.first_result = static_cast<Port>(out.types.size() - each.result_count);
    out.nodes.push_back(std::move(each));
  }
  out.inputs = std::move(data_.inputs);
  for (core::GraphInput& input : out.inputs) input.port = renamed[input.port];
  for (const Port output : data_.outputs) out.outputs.push_back(renamed[resolve(output)]);
  for (const core::GraphUpdate& update : data_.updates) {
    out.updates.push_back({update.input, renamed[resolve(update.port)]});
  }
  out.draws = data_.draws;
  return core::Graph(std::move(out));
}

}  // namespace tyto::optimiser
