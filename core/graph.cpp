// Building flat graphs, and writing them down.
#include "core/graph.hpp"

#include <sstream>

#include "core/op_ids.hpp"

namespace tyto::core {

const Attributes& Graph::attributes(const GraphNode& node) const {
  return node.attributes ? *node.attributes : no_attributes;
}

const Array* Graph::constant(Port port) const {
  const GraphNode& node = data_.nodes[data_.producers[port]];
  return node.op == OpId::constant ? &std::get<ConstantAttributes>(*node.attributes).array : nullptr;
}

Port GraphBuilder::add(OpId op, std::shared_ptr<const Attributes> attributes, std::span<const Port> inputs,
                       std::span<const TensorType> results, std::shared_ptr<const std::string> label) {
  const auto first = static_cast<Port>(graph_.data_.types.size());
  graph_.data_.producers.resize(graph_.data_.producers.size() + results.size(),
                                static_cast<std::uint32_t>(graph_.data_.nodes.size()));
  graph_.data_.nodes.push_back({op, std::move(attributes), static_cast<std::uint32_t>(graph_.data_.edges.size()),
                                static_cast<std::uint32_t>(inputs.size()), first,
                                static_cast<std::uint32_t>(results.size()), std::move(label)});
  graph_.data_.edges.insert(graph_.data_.edges.end(), inputs.begin(), inputs.end());
  graph_.data_.types.insert(graph_.data_.types.end(), results.begin(), results.end());
  return first;
}

Port GraphBuilder::add(OpId op, std::shared_ptr<const Attributes> attributes, std::span<const Port> inputs,
                       std::shared_ptr<const std::string> label) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const Port input : inputs) types.push_back(graph_.data_.types[input]);
  const std::vector<TensorType> results = infer_types(definition(op), attributes ? *attributes : no_attributes, types);
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
  graph_.data_.inputs.push_back(std::move(input));
  return port;
}

namespace {

void write_ports(std::ostream& out, std::span<const Port> ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) out << (i == 0 ? "%" : ", %") << ports[i];
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::ostringstream out;
  for (const GraphNode& node : graph.nodes()) {
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      const TensorType& type = graph.type(node.first_result + i);
      out << (i == 0 ? "%" : ", %") << node.first_result + i << ' ' << name_of(type.dtype) << to_string(type.shape);
    }
    out << " = " << definition(node.op).name << '(';
    write_ports(out, graph.inputs_of(node));
    out << ')';
    if (node.attributes) out << ' ' << to_string(*node.attributes);
    if (node.label) out << "  # " << *node.label;
    out << '\n';
  }
  for (const GraphInput& input : graph.inputs()) out << "input %" << input.port << ' ' << input.name << '\n';
  for (const Port output : graph.outputs()) out << "output %" << output << '\n';
  for (const GraphUpdate& update : graph.updates()) {
    out << "update " << graph.inputs()[update.input].name << " := %" << update.port << '\n';
  }
  return out.str();
}

}  // namespace tyto::core
