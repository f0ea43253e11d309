// SPDX-License-Identifier: MIT
// Layout: magic, version, hash of the rest; arrays, states, inputs, operator names, nodes, outputs, updates, draws.
// Operators are named, not numbered, and result types are inferred again, so a file does not trust its writer.
#include "engine/graph/graph_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <unordered_map>

#include "core/graph/builder.hpp"
#include "core/graph/custom.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/hash.hpp"
#include "core/value/text.hpp"
#include "engine/graph/attribute_bytes.hpp"
#include "engine/graph/byte_stream.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/random.hpp"
#include "engine/graph/state.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"

namespace tyto::run {

using core::Graph;
using core::GraphInput;
using core::GraphNode;
using core::OpId;
using core::Port;

namespace {

constexpr std::string_view magic = "tytograf";
// Graphs with loops and branches are of version 2, others of version 1, which is all that older readers know.
constexpr std::uint32_t plain_version = 1;
constexpr std::uint32_t region_version = 2;
constexpr int deepest_region = 32;

enum class InputKind : std::uint8_t { argument, placeholder, persistent, variable, generator };

InputKind kind_of(const GraphInput& input) {
  if (input.generator) return InputKind::generator;
  if (input.state == nullptr) return InputKind::argument;
  switch (input.state->kind()) {
    case core::State::Kind::placeholder: return InputKind::placeholder;
    case core::State::Kind::persistent: return InputKind::persistent;
    case core::State::Kind::parameter: return InputKind::argument;
    case core::State::Kind::variable: break;
  }
  return InputKind::variable;
}

std::unordered_map<Port, std::uint32_t> inputs_by_port(const Graph& graph) {
  std::unordered_map<Port, std::uint32_t> out;
  for (std::uint32_t i = 0; i < graph.inputs().size(); ++i) out.emplace(graph.inputs()[i].port, i);
  return out;
}

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, ByteWriter& out) : graph_(graph), out_(out), inputs_at_(inputs_by_port(graph)) {}

  void write() {
    out_.number(static_cast<std::uint32_t>(graph_.inputs().size()));
    for (const GraphInput& input : graph_.inputs()) write_input(input);
    write_operator_names();
    out_.number(static_cast<std::uint32_t>(graph_.nodes().size()));
    for (const GraphNode& node : graph_.nodes()) write_node(node);
    out_.number(static_cast<std::uint32_t>(graph_.outputs().size()));
    for (const Port port : graph_.outputs()) out_.number(port);
    out_.number(static_cast<std::uint32_t>(graph_.updates().size()));
    for (const core::GraphUpdate& update : graph_.updates()) {
      out_.number(update.input);
      out_.number(update.port);
    }
    out_.number(graph_.draws());
  }

 private:
  void write_type(const core::TensorType& type) {
    out_.number(static_cast<std::uint8_t>(type.dtype));
    out_.number(static_cast<std::uint32_t>(type.shape.size()));
    for (const std::int64_t length : type.shape) out_.number(length);
  }

  void write_array(const core::Array& array) {
    const core::Array here = contiguous(to_device(array, cpu_device()));
    const std::size_t width = size_of(here.dtype);
    write_type({here.dtype, here.view.shape, false});
    const auto count = static_cast<std::size_t>(here.view.count());
    if (count == 0) return;
    out_.raw({static_cast<const std::byte*>(here.buffer->memory()) + static_cast<std::size_t>(here.view.offset) * width,
              count * width});
  }

  void write_input(const GraphInput& input) {
    const InputKind kind = kind_of(input);
    out_.number(static_cast<std::uint8_t>(kind));
    out_.text(input.name);
    if (kind == InputKind::persistent || kind == InputKind::variable) {
      if (!input.state->current()) core::throw_error<GraphError>("save: '", input.name, "' has no contents");
      write_array(contents(input.state->current()));
    } else {
      write_type(graph_.type(input.port));
    }
  }

  // A user's gradient rule is not needed once gradients are taken: the node passes its first input on.
  static OpId saved_operator(const GraphNode& node) { return node.op == OpId::with_gradient ? OpId::alias : node.op; }

  void write_operator_names() {
    std::vector<OpId> used;
    for (const GraphNode& node : graph_.nodes()) {
      const OpId op = saved_operator(node);
      if (places_.emplace(op, used.size()).second) used.push_back(op);
    }
    out_.number(static_cast<std::uint32_t>(used.size()));
    for (const OpId op : used) out_.text(core::definition(op).name);
  }

  void write_node(const GraphNode& node) {
    const OpId op = saved_operator(node);
    out_.number(static_cast<std::uint32_t>(places_.at(op)));
    if (op == OpId::read && node.input_count == 0) {
      out_.number(inputs_at_.at(node.first_result));
      return;
    }
    out_.text(node.label ? *node.label : std::string());
    if (op == OpId::constant) {
      write_array(constant_to_copy(graph_.attributes(node)));
      return;
    }
    if (op == OpId::custom) {
      const auto& custom = *std::get<core::CustomAttributes>(graph_.attributes(node)).op;
      core::throw_error<GraphError>("save: the graph holds '", custom.name,
                                    "', a function of this program, which no file can hold; "
                                    "compose it of Tyto's operators");
    }
    const std::span<const Port> inputs = graph_.inputs_of(node).first(op == node.op ? node.input_count : 1);
    out_.number(static_cast<std::uint32_t>(inputs.size()));
    for (const Port port : inputs) out_.number(port);
    write_attributes(out_, op == node.op ? graph_.attributes(node) : core::Attributes(), core::definition(op).name);
  }

  const Graph& graph_;
  ByteWriter& out_;
  std::unordered_map<Port, std::uint32_t> inputs_at_;
  std::unordered_map<OpId, std::size_t> places_;
};

class GraphReader {
 public:
  GraphReader(ByteReader& in, bool is_region) : in_(in), is_region_(is_region) {}

  Graph read() {
    read_inputs();
    read_operator_names();
    const std::uint32_t nodes = in_.count(8, "nodes");
    for (std::uint32_t i = 0; i < nodes; ++i) read_node();
    const std::uint32_t outputs = in_.count(sizeof(Port), "outputs");
    for (std::uint32_t i = 0; i < outputs; ++i) builder_.add_output(read_port("output"));
    read_updates();
    builder_.set_draws(in_.number<std::uint64_t>("the number of draws"));
    return builder_.finish();
  }

 private:
  struct Input {
    core::TensorType type;
    GraphInput slot;
  };

  core::TensorType read_type() {
    core::TensorType type;
    const int dtype = in_.number<std::uint8_t>("an element type");
    if (dtype >= dtype_count) in_.refuse("element type ", dtype, " is unknown");
    type.dtype = static_cast<DType>(dtype);
    const std::uint32_t rank = in_.count(sizeof(std::int64_t), "axes");
    std::int64_t elements = 1;
    bool empty = false;
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto length = in_.number<std::int64_t>("a length");
      if (length < 0) in_.refuse("the length ", length, " of an axis is negative");
      type.shape.push_back(length);
      empty = empty || length == 0;
      if (length != 0 && __builtin_mul_overflow(elements, length, &elements)) elements = INT64_MAX;
    }
    if (!empty && elements > INT64_MAX / 16) in_.refuse("shape ", type.shape, " is larger than memory can be");
    return type;
  }

  core::Array read_array() {
    const core::TensorType type = read_type();
    const std::size_t bytes = static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype);
    const std::span<const std::byte> data = in_.raw(bytes, "an array");
    core::Array array = new_array(cpu_device(), type.dtype, type.shape);
    if (bytes != 0) std::memcpy(array.buffer->memory(), data.data(), bytes);
    return array;
  }

  void read_inputs() {
    const std::uint32_t count = in_.count(6, "inputs");
    for (std::uint32_t i = 0; i < count; ++i) {
      const int kind = in_.number<std::uint8_t>("kind of input");
      if (kind > static_cast<int>(InputKind::generator)) in_.refuse("kind ", kind, " of input is unknown");
      Input input;
      input.slot.name = in_.text("name of an input");
      read_contents(static_cast<InputKind>(kind), input);
      inputs_.push_back(std::move(input));
    }
  }

  void read_contents(InputKind kind, Input& input) {
    using Kind = core::State::Kind;
    if (is_region_ != (kind == InputKind::argument)) {
      in_.refuse("input '", input.slot.name,
                 is_region_ ? "' of a region is no operand" : "' belongs to no placeholder and no state");
    }
    if (is_region_) {
      input.type = read_type();
      return;
    }
    if (kind == InputKind::persistent || kind == InputKind::variable) {
      const core::Array array = to_device(read_array(), current_device());
      input.type = {array.dtype, array.view.shape, false};
      const Value handle = make_state(core::Mode::lazy, kind == InputKind::variable ? Kind::variable : Kind::persistent,
                                      input.slot.name, input.type);
      input.slot.state = state_behind(handle, "load");
      input.slot.state->set_current(core::version(core::Mode::lazy, input.slot.state, array));
      return;
    }
    input.type = read_type();
    if (kind == InputKind::generator) {
      if (input.type.dtype != generator_state()->type().dtype || input.type.shape != generator_state()->type().shape) {
        in_.refuse("the key of the random numbers is ", input.type.dtype, input.type.shape);
      }
      input.slot.state = generator_state();
      input.slot.generator = true;
    } else {
      input.slot.state =
          state_behind(make_state(core::Mode::lazy, Kind::placeholder, input.slot.name, input.type), "load");
    }
  }

  void read_operator_names() {
    const std::uint32_t count = in_.count(4, "operators");
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string name = in_.text("name of an operator");
      const core::OpDef* def = core::find_operator(name);
      const bool inside = def != nullptr && def->id != OpId::state && def->id != OpId::custom &&
                          def->id != OpId::with_gradient && !def->is(core::Traits::eager_only) && !made_by_passes(*def);
      if (!inside) in_.refuse("the operator '", name, "' is unknown or cannot stand in a file");
      operators_.push_back(def);
    }
  }

  // Files hold graphs as they were recorded; what the optimiser puts into them trusts its own attributes.
  static bool made_by_passes(const core::OpDef& def) {
    return def.id == OpId::matmul_epilogue || def.id == OpId::convolution_epilogue || def.id == OpId::pack_weights;
  }

  Port read_port(const char* what) { return in_.index(builder_.graph().port_count(), what); }

  // Inputs of a graph are made where the file has their nodes, in the order of the list.
  void read_input_node() {
    const std::uint32_t input = in_.index(inputs_.size(), "input");
    if (input != next_input_) in_.refuse("input ", input, " stands where input ", next_input_, " belongs");
    ++next_input_;
    builder_.add_input(inputs_[input].type, inputs_[input].slot);
  }

  void read_node() {
    const core::OpDef& def = *operators_[in_.index(operators_.size(), "operator")];
    if (def.id == OpId::read) {
      read_input_node();
      return;
    }
    const std::string label = in_.text("a label");
    if (def.id == OpId::constant) {
      const core::Array array = to_device(read_array(), current_device());
      if (is_region_) builder_.add_constant(array);
      else add_constant(builder_, array);
      return;
    }
    const std::uint32_t count = in_.count(sizeof(Port), "inputs of a node");
    if (static_cast<int>(count) < def.min_inputs || static_cast<int>(count) > def.max_inputs) {
      in_.refuse(def.name, " with ", count, " inputs");
    }
    std::vector<Port> ports;
    for (std::uint32_t i = 0; i < count; ++i) ports.push_back(read_port("tensor"));
    core::Attributes attributes = read_attributes(in_, def);
    std::shared_ptr<const core::Attributes> shared;
    if (!std::holds_alternative<core::NoAttributes>(attributes)) {
      shared = std::make_shared<const core::Attributes>(std::move(attributes));
    }
    std::shared_ptr<const std::string> name;
    if (!label.empty()) name = std::make_shared<const std::string>(label);
    try {
      builder_.add(def.id, std::move(shared), ports, std::move(name));
    } catch (const std::exception& error) {
      in_.refuse("node ", builder_.graph().nodes().size(), ", ", def.name, ": ", error.what());
    }
  }

  void read_updates() {
    const std::uint32_t count = in_.count(2 * sizeof(std::uint32_t), "updates");
    std::vector<bool> updated(inputs_.size(), false);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t input = in_.index(next_input_, "updated state");
      const Port port = read_port("new value");
      const std::shared_ptr<core::State>& state = inputs_[input].slot.state;
      if (!is_region_ && (state == generator_state() || state->kind() == core::State::Kind::placeholder)) {
        in_.refuse("input '", inputs_[input].slot.name, "' is no state that could be updated");
      }
      if (updated[input]) in_.refuse("'", inputs_[input].slot.name, "' is updated twice");
      updated[input] = true;
      const core::TensorType& given = builder_.graph().type(port);
      if (given.dtype != inputs_[input].type.dtype || given.shape != inputs_[input].type.shape) {
        in_.refuse("'", inputs_[input].slot.name, "', ", inputs_[input].type.dtype, inputs_[input].type.shape,
                   ", is updated with ", given.dtype, given.shape);
      }
      builder_.add_update(input, port);
    }
  }

  ByteReader& in_;
  bool is_region_;
  core::GraphBuilder builder_;
  std::vector<Input> inputs_;
  std::uint32_t next_input_ = 0;
  std::vector<const core::OpDef*> operators_;
};

}  // namespace

std::vector<std::byte> graph_to_bytes(const Graph& graph) {
  const bool has_regions = std::ranges::any_of(graph.nodes(), [](const GraphNode& node) {
    return node.attributes && !core::regions_of(*node.attributes).empty();
  });
  ByteWriter contents;
  GraphWriter(graph, contents).write();
  ByteWriter file;
  file.raw(std::as_bytes(std::span(magic)));
  file.number(has_regions ? region_version : plain_version);
  file.number(core::fnv1a(contents.bytes()));
  file.raw(contents.bytes());
  return file.finish();
}

Graph graph_from_bytes(std::string_view name, std::span<const std::byte> bytes) {
  ByteReader in(name, bytes);
  const auto found = in.raw(magic.size(), "the mark of a graph file");
  if (!std::ranges::equal(found, std::as_bytes(std::span(magic)))) in.refuse("this is no graph file of Tyto");
  const auto written = in.number<std::uint32_t>("the version");
  if (written != plain_version && written != region_version) {
    in.refuse("version ", written, " of the format; versions ", plain_version, " and ", region_version, " are known");
  }
  const auto hash = in.number<std::uint64_t>("the hash");
  ByteReader rest = in;
  if (core::fnv1a(rest.raw(rest.left(), "the graph")) != hash) in.refuse("the file is damaged: its hash differs");
  Graph graph = GraphReader(in, false).read();
  if (in.left() != 0) in.refuse(in.left(), " bytes are left behind the end of the graph");
  return graph;
}

void write_region(ByteWriter& out, const core::Region& region) { GraphWriter(region.graph(), out).write(); }

core::Region read_region(ByteReader& in) {
  const ByteReader::Nesting nesting(in, deepest_region);
  return core::Region(GraphReader(in, true).read());
}

namespace {

void write_text(std::string& out, const Graph& graph, const std::string& indent) {
  const std::unordered_map<Port, std::uint32_t> inputs = inputs_by_port(graph);
  const auto name = [&](Port port) {
    const GraphNode& from = graph.nodes()[graph.producer(port)];
    std::string shown = core::text(" %", graph.producer(port));
    if (from.result_count > 1) shown += core::text(".", port - from.first_result);
    return shown;
  };
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    out += core::text(indent, "%", i, " = ", core::definition(node.op).name);
    for (const Port port : graph.inputs_of(node)) out += name(port);
    if (node.attributes) {
      const std::string attributes = core::to_string(*node.attributes);
      if (!attributes.empty()) out += core::text(" {", attributes, "}");
    }
    out += " :";
    for (std::uint32_t r = 0; r < node.result_count; ++r) {
      const core::TensorType& type = graph.type(node.first_result + r);
      out += core::text(" ", type.dtype, type.shape);
    }
    const auto input = inputs.find(node.first_result);
    if (input != inputs.end()) out += core::text(" \"", graph.inputs()[input->second].name, "\"");
    if (node.label) out += core::text("  # ", *node.label);
    out += "\n";
    if (!node.attributes) continue;
    for (const core::Region& region : core::regions_of(*node.attributes)) {
      out += indent + "{\n";
      write_text(out, region.graph(), indent + "  ");
      out += indent + "}\n";
    }
  }
  out += indent + "outputs";
  for (const Port port : graph.outputs()) out += name(port);
  out += "\n";
  for (const core::GraphUpdate& update : graph.updates()) {
    out += core::text(indent, "update \"", graph.inputs()[update.input].name, "\" =", name(update.port), "\n");
  }
}

}  // namespace

std::string graph_to_text(const Graph& graph) {
  std::string out;
  write_text(out, graph, "");
  return out;
}

}  // namespace tyto::run
