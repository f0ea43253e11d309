// SPDX-License-Identifier: MIT
// The graph as the optimiser and the devices see it: flat, numbered per graph, immutable once built.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/operator.hpp"

namespace tyto::core {

/// Number of one tensor of a graph: a result of one of its nodes.
using Port = std::uint32_t;
inline constexpr Port no_port = UINT32_MAX;

/// One operator application. Inputs and results are ranges; see Graph::inputs_of and Graph::results_of.
struct GraphNode {
  OpId op;
  std::shared_ptr<const Attributes> attributes;  // null for none
  std::uint32_t first_input = 0;
  std::uint32_t input_count = 0;
  Port first_result = 0;
  std::uint32_t result_count = 0;
  std::shared_ptr<const std::string> label;
};

/// Something given to the graph at each run: an argument, or a state's contents.
struct GraphInput {
  Port port = no_port;
  std::string name;
  std::shared_ptr<State> state;  // null for a plain argument
  bool generator = false;        // the key of the process-wide random sequence, advanced at each run
};

/// An assignment at the end of a run: the state of input `input` takes the value of `port`.
struct GraphUpdate {
  std::uint32_t input = 0;
  Port port = no_port;
};

/// The parts of a graph, on which builders and passes work; a Graph is finished and immutable.
struct GraphData {
  std::vector<GraphNode> nodes;  // inputs precede their consumers
  std::vector<Port> edges;
  std::vector<TensorType> types;
  std::vector<std::uint32_t> producers;
  std::vector<GraphInput> inputs;
  std::vector<Port> outputs;
  std::vector<GraphUpdate> updates;
  std::uint64_t draws = 0;
};

class Graph {
 public:
  Graph() = default;
  explicit Graph(GraphData data) : data_(std::move(data)) {}
  /// The parts, to make another graph of.
  GraphData take() && { return std::move(data_); }

  /// The nodes in a topological order: inputs precede their consumers.
  std::span<const GraphNode> nodes() const { return data_.nodes; }
  std::span<const Port> inputs_of(const GraphNode& node) const {
    return {data_.edges.data() + node.first_input, node.input_count};
  }
  const TensorType& type(Port port) const { return data_.types[port]; }
  std::size_t port_count() const { return data_.types.size(); }
  std::uint32_t producer(Port port) const { return data_.producers[port]; }
  const Attributes& attributes(const GraphNode& node) const;

  std::span<const GraphInput> inputs() const { return data_.inputs; }
  std::span<const Port> outputs() const { return data_.outputs; }
  std::span<const GraphUpdate> updates() const { return data_.updates; }
  /// Random draws that one run takes from the process-wide sequence.
  std::uint64_t draws() const { return data_.draws; }

  /// Contents of a port made by `constant`; null for others.
  const Array* constant(Port port) const;

 private:
  friend class GraphBuilder;

  GraphData data_;
};

/// True when two graphs have the same structure, attributes, types, inputs, outputs and updates.
bool same_structure(const Graph& a, const Graph& b);
/// Equal for graphs of the same structure.
std::size_t hash_of(const Graph& graph);

/// Whether the node calls a user's function, itself or in one of its regions: its results may depend on more than its
/// operands.
bool calls_user_function(const GraphNode& node);

/// Whether the node has a side effect: it runs even when nobody reads it, in recorded order, and is not merged.
/// Collective calls of a group of one process have no effect.
bool has_effect(const GraphNode& node);

/// The operators that a fused node is made of, each once: "multiply+add+exp"; empty for others.
std::string members_of(const Graph& graph, const GraphNode& node);
/// The name of a node in reports: that of its operator, with members: "fused multiply+add".
std::string described(const Graph& graph, const GraphNode& node);

/// One node a line: "%4 f32(2,3) = add(%1, %3)  # label", its regions indented below it; then the outputs and updates.
std::string to_text(const Graph& graph);

/// Makes a graph node by node. Passes copy a graph through one of these, changing what they want to change.
class GraphBuilder {
 public:
  /// Adds an operator; its shape rule is applied. Returns the first result.
  Port add(OpId op, std::shared_ptr<const Attributes> attributes, std::span<const Port> inputs,
           std::shared_ptr<const std::string> label = nullptr);
  Port add(OpId op, Attributes attributes, std::initializer_list<Port> inputs);
  /// Adds an operator whose result types are known (copied from a graph that has it).
  Port add(OpId op, std::shared_ptr<const Attributes> attributes, std::span<const Port> inputs,
           std::span<const TensorType> results, std::shared_ptr<const std::string> label);
  Port add_constant(Array array);
  Port add_input(TensorType type, GraphInput input);
  void add_output(Port port) { graph_.data_.outputs.push_back(port); }
  void add_update(std::uint32_t input, Port port) { graph_.data_.updates.push_back({input, port}); }
  void set_draws(std::uint64_t draws) { graph_.data_.draws = draws; }

  const Graph& graph() const { return graph_; }
  Graph finish() { return std::move(graph_); }

 private:
  Graph graph_;
};

}  // namespace tyto::core
