// Building flat graphs.
#include "engine/core/graph.hpp"

namespace tyto::core {

namespace {
const Attributes no_attributes;
}

const Attributes& Graph::attributes(const GraphNode& node) const {
  return node.attributes ? *node.attributes : no_attributes;
}

const Array* Graph::constant(Port port) const {
  const GraphNode& node = nodes_[producers_[port]];
  return node.op == OpId::constant ? &std::get<ConstantAttributes>(*node.attributes).array : nullptr;
}

Port GraphBuilder::add(OpId op, std::shared_ptr<const Attributes> attributes, std::span<const Port> inputs,
                       std::span<const TensorType> results, std::shared_ptr<const std::string> label) {
  const auto first = static_cast<Port>(graph_.types_.size());
  graph_.producers_.resize(graph_.producers_.size() + results.size(), static_cast<std::uint32_t>(graph_.nodes_.size()));
  graph_.nodes_.push_back({op, std::move(attributes), static_cast<std::uint32_t>(graph_.edges_.size()),
                           static_cast<std::uint32_t>(inputs.size()), first, static_cast<std::uint32_t>(results.size()),
                           std::move(label)});
  graph_.edges_.insert(graph_.edges_.end(), inputs.begin(), inputs.end());
  graph_.types_.insert(graph_.types_.end(), results.begin(), results.end());
  return first;
}

Port GraphBuilder::add(OpId op, std::shared_ptr<const Attributes> attributes, std::span<const Port> inputs,
                       std::shared_ptr<const std::string> label) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const Port input : inputs) types.push_back(graph_.types_[input]);
  const std::vector<TensorType> results = definition(op).infer(attributes ? *attributes : no_attributes, types);
  return add(op, std::move(attributes), inputs, results, std::move(label));
}

Port GraphBuilder::add(OpId op, Attributes attributes, std::initializer_list<Port> inputs) {
  std::shared_ptr<const Attributes> shared;
  if (!std::holds_alternative<NoAttributes>(attributes))
    shared = std::make_shared<const Attributes>(std::move(attributes));
  return add(op, std::move(shared), std::span<const Port>(inputs.begin(), inputs.size()));
}

Port GraphBuilder::add_constant(Array array) {
  const TensorType type{array.dtype, array.view.shape, false};
  return add(OpId::constant, std::make_shared<const Attributes>(ConstantAttributes{std::move(array)}), {}, {&type, 1},
             nullptr);
}

Port GraphBuilder::add_input(TensorType type, GraphInput input) {
  const Port port = add(OpId::read, nullptr, {}, {&type, 1}, nullptr);
  input.port = port;
  graph_.inputs_.push_back(std::move(input));
  return port;
}

}  // namespace tyto::core
