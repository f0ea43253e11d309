// SPDX-License-Identifier: MIT
// Builds flat graphs, compares and hashes their structure, and prints them.
#include "core/graph/graph.hpp"

#include <algorithm>
#include <sstream>

#include "core/graph/op_ids.hpp"
#include "core/value/hash.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

const Attributes& Graph::attributes(const GraphNode& node) const {
  return node.attributes ? *node.attributes : no_attributes;
}

const Array* Graph::constant(Port port) const {
  const GraphNode& node = data_.nodes[data_.producers[port]];
  const auto* const given = std::get_if<ConstantAttributes>(node.attributes.get());
  return given == nullptr ? nullptr : &given->array;
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

std::string members_of(const Graph& graph, const GraphNode& node) {
  constexpr std::size_t most = 6;
  if (node.op != OpId::fused) return {};
  std::vector<OpId> seen;
  std::string names;
  for (const LoopInstruction& instruction : std::get<LoopAttributes>(graph.attributes(node)).program.instructions) {
    if (std::ranges::find(seen, instruction.op) != seen.end()) continue;
    seen.push_back(instruction.op);
    if (seen.size() > most) return names + "+...";
    names += (names.empty() ? "" : "+") + std::string(definition(instruction.op).name);
  }
  return names;
}

std::string described(const Graph& graph, const GraphNode& node) {
  const std::string members = members_of(graph, node);
  const std::string_view name = definition(node.op).name;
  return members.empty() ? std::string(name) : text(name, ' ', members);
}

bool same_structure(const Graph& a, const Graph& b) {
  if (a.nodes().size() != b.nodes().size() || a.port_count() != b.port_count() ||
      a.inputs().size() != b.inputs().size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    const GraphNode& x = a.nodes()[i];
    const GraphNode& y = b.nodes()[i];
    if (x.op != y.op || !std::ranges::equal(a.inputs_of(x), b.inputs_of(y)) || !(a.attributes(x) == b.attributes(y))) {
      return false;
    }
  }
  for (std::size_t i = 0; i < a.inputs().size(); ++i) {
    if (a.inputs()[i].port != b.inputs()[i].port || a.inputs()[i].state != b.inputs()[i].state) return false;
  }
  for (Port port = 0; port < a.port_count(); ++port) {
    if (!(a.type(port) == b.type(port))) return false;
  }
  const auto same_update = [](const GraphUpdate& x, const GraphUpdate& y) {
    return x.input == y.input && x.port == y.port;
  };
  return std::ranges::equal(a.outputs(), b.outputs()) && std::ranges::equal(a.updates(), b.updates(), same_update);
}

std::size_t hash_of(const Graph& graph) {
  std::size_t seed = graph.nodes().size();
  const auto mix = [&](std::size_t value) { seed = mixed_hash(seed, value); };
  for (const GraphNode& node : graph.nodes()) {
    mix(static_cast<std::size_t>(node.op));
    mix(hash_of(graph.attributes(node)));
    for (const Port input : graph.inputs_of(node)) mix(input);
  }
  for (const GraphInput& input : graph.inputs()) {
    mix(static_cast<std::size_t>(graph.type(input.port).dtype));
    for (const std::int64_t length : graph.type(input.port).shape) mix(static_cast<std::size_t>(length));
  }
  for (const Port output : graph.outputs()) mix(output);
  return seed;
}

bool calls_user_function(const GraphNode& node) {
  if (node.op == OpId::custom) return true;
  if (!node.attributes) return false;
  for (const Region& region : regions_of(*node.attributes)) {
    if (std::ranges::any_of(region.graph().nodes(), calls_user_function)) return true;
  }
  return false;
}

bool has_effect(const GraphNode& node) {
  if (!definition(node.op).is(Traits::effect)) return false;
  const auto* collective = node.attributes ? std::get_if<CollectiveAttributes>(node.attributes.get()) : nullptr;
  return collective == nullptr || collective->processes != 1;
}

namespace {

void write_ports(std::ostream& out, std::span<const Port> ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) out << (i == 0 ? "%" : ", %") << ports[i];
}

void write_graph(std::ostream& out, const Graph& graph, const std::string& indent) {
  for (const GraphNode& node : graph.nodes()) {
    out << indent;
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
    if (!node.attributes) continue;
    for (const Region& region : regions_of(*node.attributes)) {
      out << indent << "{\n";
      write_graph(out, region.graph(), indent + "  ");
      out << indent << "}\n";
    }
  }
  for (const GraphInput& input : graph.inputs()) out << indent << "input %" << input.port << ' ' << input.name << '\n';
  for (const Port output : graph.outputs()) out << indent << "output %" << output << '\n';
  for (const GraphUpdate& update : graph.updates()) {
    out << indent << "update " << graph.inputs()[update.input].name << " := %" << update.port << '\n';
  }
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::ostringstream out;
  write_graph(out, graph, "");
  return out.str();
}

}  // namespace tyto::core
