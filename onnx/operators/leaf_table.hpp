// SPDX-License-Identifier: MIT
// Values that the leaves of trees add to each target, as tables that a reduction takes.
#pragma once

#include <cstdint>
#include <vector>

#include "onnx/operators/tree_ensemble.hpp"

namespace tyto::onnx {

/// The values that leaves add, laid out so that the targets have equally many addends: `columns` for each, each a tree.
/// The addend of a leaf is value[offset of the column + leaf].
struct LeafTable {
  std::int64_t columns = 0;
  std::vector<std::int32_t> trees;    // by target and column; empty where the columns of each target are all trees
  std::vector<std::int32_t> offsets;  // by target and column
  std::vector<double> values;
  std::vector<std::uint8_t> present;  // whether there is a weight
  std::vector<bool> always;           // by target: whether each tree that weighs it does so in all its leaves
};

/// `absent` is the value of leaves without a weight. Adds a one-leaf tree where targets have fewer trees than others.
LeafTable leaf_table(const OperatorCall& call, TreeEnsemble& trees, std::int64_t targets, double absent);

}  // namespace tyto::onnx
