// SPDX-License-Identifier: MIT
// A recorded graph as plain data, for programs that write graphs in other formats.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tyto/graph.hpp"
#include "tyto/named.hpp"
#include "tyto/operators.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// A tensor of a graph: an input, a constant, or the result of a node.
struct ListedTensor {
  DType dtype = DType::f32;                 ///< element type
  Shape shape;                              ///< its lengths
  std::string name = {};                    ///< of inputs and states, where they have one
  std::optional<Tensor<Eager>> value = {};  ///< of constants, and of states when the graph was listed
};

struct GraphListing;

/// One application of an operator; tensors are named by their numbers.
struct ListedNode {
  std::string op;                    ///< as in docs/operators.md
  std::string label;                 ///< that of a NameScope
  std::vector<std::size_t> inputs;   ///< numbers of tensors
  std::vector<std::size_t> results;  ///< numbers of tensors
  NamedList<Attribute> attributes;   ///< the operator's parameters besides its inputs
  /// The arms of a branch, or the body of a loop, which yields the next carries before its other outputs. Their tensors
  /// have numbers of their own.
  std::vector<GraphListing> regions;
};

/// All tensors and nodes of a graph.
struct GraphListing {
  std::vector<ListedTensor> tensors;  ///< all of the graph
  std::vector<ListedNode> nodes;      ///< inputs precede their consumers
  std::vector<std::size_t> inputs;    ///< numbers of tensors
  std::vector<std::size_t> outputs;   ///< numbers of tensors
  std::vector<std::string> updates;   ///< names of the states that a run gives new values
};

/// The graph as it was recorded. Operators for which `knows` (if given) returns false are expanded into the operators
/// that they are made of, where it knows these. Throws GraphError naming a function of this program (delay) that
/// the graph holds.
GraphListing list_graph(const Graph& graph, const std::function<bool(const std::string& op)>& knows = {});

}  // namespace TYTO_API
