// SPDX-License-Identifier: MIT
// Copies a graph node by node, with second copies of the nodes that are recomputed.
#include "optimiser/recompute/rewrite.hpp"

#include <algorithm>

#include "core/graph/graph_copy.hpp"
#include "core/graph/op_ids.hpp"

namespace tyto::recompute {

using core::GraphNode;
using core::OpId;
using core::Port;

namespace {

class Rewriter {
 public:
  Rewriter(const core::Graph& graph, const optimiser::Storages& storages, const Choice& choice)
      : graph_(graph),
        storages_(storages),
        choice_(choice),
        first_(graph, builder_),
        second_(graph.port_count(), core::no_port),
        early_(graph.port_count(), false) {}

  core::Graph run(const std::vector<std::uint32_t>& nodes, std::uint32_t boundary) {
    first_.add_inputs();
    bool late = false;
    for (const std::uint32_t index : nodes) {
      const GraphNode& node = graph_.nodes()[index];
      if (first_.has(node)) continue;  // an input
      if (late) {
        make_again_for(node);
        first_.place(node, add_late(node));
        continue;
      }
      first_.add(node);
      for (std::uint32_t r = 0; r < node.result_count; ++r) early_[node.first_result + r] = true;
      late = index == boundary;
    }
    return first_.finish();
  }

 private:
  Port add_late(const GraphNode& node) {
    inputs_.clear();
    for (const Port input : graph_.inputs_of(node)) inputs_.push_back(gone(input) ? second_[input] : first_[input]);
    return first_.add_on(inputs_, node, node.attributes, node.label);
  }

  // Made before the boundary, in memory that is used for something else after it.
  bool gone(Port port) const {
    const std::uint32_t storage = storages_.of(port);
    return early_[port] && storages_.kind(storage) == optimiser::StorageKind::planned && !choice_.keep[storage];
  }

  // Inputs of a node that are gone and not made again yet, and what those need in turn, innermost first.
  void make_again_for(const GraphNode& node) {
    for (const Port input : graph_.inputs_of(node)) {
      if (!gone(input) || second_[input] != core::no_port) continue;
      stack_.push_back(graph_.producer(input));
      while (!stack_.empty()) {
        const GraphNode& again = graph_.nodes()[stack_.back()];
        if (second_[again.first_result] != core::no_port) {
          stack_.pop_back();
          continue;
        }
        const std::size_t before = stack_.size();
        for (const Port needed : graph_.inputs_of(again)) {
          if (gone(needed) && second_[needed] == core::no_port) stack_.push_back(graph_.producer(needed));
        }
        if (stack_.size() != before) continue;
        const Port first = add_late(again);
        for (std::uint32_t r = 0; r < again.result_count; ++r) second_[again.first_result + r] = first + r;
        stack_.pop_back();
      }
    }
  }

  const core::Graph& graph_;
  const optimiser::Storages& storages_;
  const Choice& choice_;
  core::GraphBuilder builder_;
  core::GraphCopy first_;     // by port: where it was made first
  std::vector<Port> second_;  // by port: where it was made again
  std::vector<bool> early_;   // by port: made before the boundary
  std::vector<std::uint32_t> stack_;
  std::vector<Port> inputs_;
};

double elements(const core::Graph& graph, Port port) {
  return static_cast<double>(element_count(graph.type(port).shape));
}

}  // namespace

core::Graph rewrite(const core::Graph& graph, const optimiser::Storages& storages, const schedule::Problem& problem,
                    const schedule::Order& order, const Choice& choice) {
  return Rewriter(graph, storages, choice)
      .run(schedule::nodes_in_order(graph, problem, order), problem.node[order[choice.boundary]]);
}

double flops(const core::Graph& graph, const GraphNode& node) {
  const auto inputs = graph.inputs_of(node);
  const Port result = node.first_result;
  const auto last = [&](Port port) {
    const Shape& shape = graph.type(port).shape;
    return shape.empty() ? 1.0 : std::max(1.0, static_cast<double>(shape.back()));
  };
  switch (node.op) {
    case OpId::matmul:
    case OpId::matmul_epilogue: return 2 * elements(graph, result) * last(inputs[0]);
    // Each of the three products of a convolution multiplies every pixel of the result with the kernel of its channel.
    case OpId::convolution: return 2 * elements(graph, result) * elements(graph, inputs[1]) / last(inputs[1]);
    case OpId::convolution_epilogue: {
      const auto& product = std::get<core::ProductAttributes>(graph.attributes(node));
      const Shape& kernel = product.packed ? product.weights : graph.type(inputs[1]).shape;
      return 2 * elements(graph, result) * static_cast<double>(element_count(kernel)) /
             std::max(1.0, static_cast<double>(kernel.back()));
    }
    case OpId::convolution_input_gradient:
      return 2 * elements(graph, inputs[0]) * elements(graph, inputs[1]) / last(inputs[1]);
    case OpId::convolution_kernel_gradient:
      return 2 * elements(graph, inputs[1]) * elements(graph, result) / last(result);
    default: return elements(graph, result);
  }
}

double cost(const core::Graph& graph, const GraphNode& node) {
  // Machines do some tens of operations in the time that a byte takes to or from memory.
  constexpr double operations_a_byte = 16;
  std::size_t bytes = 0;
  for (const Port input : graph.inputs_of(node)) bytes += optimiser::bytes_of(graph, input);
  for (std::uint32_t i = 0; i < node.result_count; ++i) bytes += optimiser::bytes_of(graph, node.first_result + i);
  return flops(graph, node) + operations_a_byte * static_cast<double>(bytes);
}

double total_flops(const core::Graph& graph) {
  double sum = 0;
  for (const GraphNode& node : graph.nodes()) {
    const core::OpDef& def = core::definition(node.op);
    if (!def.is(core::Traits::view) && !def.is(core::Traits::leaf)) sum += flops(graph, node);
  }
  return sum;
}

}  // namespace tyto::recompute
