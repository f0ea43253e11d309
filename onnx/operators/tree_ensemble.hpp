// SPDX-License-Identifier: MIT
// Decision trees as tables: nodes by number, and the nodes that follow them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

/// A value can lie below the split of a node, at it, above it or, where it is NaN, nowhere.
inline constexpr std::int32_t outcomes = 4;

/// The trees of an ensemble, checked: each child exists, and no way leads back. Leaves are the last nodes and follow
/// themselves, so that all trees can be descended in the same number of steps.
struct TreeEnsemble {
  std::vector<std::int32_t> features;  // by node
  std::vector<double> splits;          // by node
  std::vector<std::int32_t> next;      // `outcomes` for each node
  std::vector<std::int32_t> roots;     // by tree
  std::int32_t first_leaf = 0;
  std::int64_t depth = 0;            // steps from a root to the leaf that lies deepest
  std::int64_t features_needed = 0;  // columns that the input must have

  /// The leaves that a tree can end in, from the first to the last.
  struct LeafRange {
    std::int32_t first, last;
  };
  std::vector<LeafRange> leaves;  // by tree

  struct Weight {
    std::int32_t node, target;
    double value;
  };
  std::vector<Weight> weights;
};

/// Trees of versions 1 to 3: lists of nodes with their trees and numbers; `prefix` is "class" or "target".
TreeEnsemble listed_trees(const OperatorCall& call, const std::string& prefix, std::int64_t targets);
/// Trees of TreeEnsemble of version 5: nodes and leaves by position.
TreeEnsemble linked_trees(const OperatorCall& call, std::int64_t targets);

/// Numbers of an attribute or of the tensor that newer versions have in its place, NAME_as_tensor.
std::vector<double> listed_numbers(const OperatorCall& call, const std::string& name);

}  // namespace tyto::onnx
