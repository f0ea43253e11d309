// SPDX-License-Identifier: MIT
// Builds the tables of the leaves' values.
#include "onnx/operators/leaf_table.hpp"

#include <algorithm>
#include <map>

#include "onnx/file/limits.hpp"

namespace tyto::onnx {

namespace {

/// The weights of a target at the leaves of one tree, which lie one behind the other.
struct Column {
  std::int32_t tree;
  std::int32_t offset;  // of its weights, less its first leaf
};

class LeafTableBuilder {
 public:
  LeafTableBuilder(const OperatorCall& call, TreeEnsemble& trees, std::int64_t targets, double absent)
      : call_(call), trees_(trees), targets_(targets), absent_(absent) {
    // A file cannot ask for tables that are much larger than what it lists, nor for more than 32 bits count.
    limit_ = std::min((std::int64_t{1} << 20) + 1024 * std::ssize(trees.weights), std::int64_t{1} << 30);
    require_room(targets);
    columns_.resize(static_cast<std::size_t>(targets));
    table_.always.assign(columns_.size(), true);
    for (std::size_t tree = 0; tree < trees.roots.size(); ++tree) add_tree(static_cast<std::int32_t>(tree));
  }

  LeafTable finished() {
    std::size_t longest = 0;
    bool all_trees = true;
    for (std::size_t target = 0; target < columns_.size(); ++target) {
      longest = std::max(longest, columns_[target].size());
      all_trees = all_trees && columns_[target].size() == trees_.roots.size();
      if (columns_[target].empty()) table_.always[target] = false;
    }
    table_.columns = static_cast<std::int64_t>(longest);
    require_room(table_.columns * std::ssize(columns_));
    for (std::vector<Column>& each : columns_) {
      if (each.size() < longest) each.resize(longest, empty_column());
      for (const Column& column : each) {
        if (!all_trees) table_.trees.push_back(column.tree);
        table_.offsets.push_back(column.offset);
      }
    }
    return std::move(table_);
  }

 private:
  void require_room(std::int64_t cells) const {
    if (cells > limit_) {
      call_.refuse("its ", trees_.roots.size(), " trees and ", targets_, " targets need a table of more than ", limit_,
                   " weights, though ", trees_.weights.size(), " are listed");
    }
    require_numbers(cells);
  }

  auto first_weight(std::int32_t leaf) const {
    return std::lower_bound(trees_.weights.begin(), trees_.weights.end(), leaf,
                            [](const auto& weight, std::int32_t at) { return weight.node < at; });
  }

  void add_tree(std::int32_t tree) {
    const auto [first, last] = trees_.leaves[static_cast<std::size_t>(tree)];
    const auto begin = first_weight(first), end = first_weight(last + 1);
    // Trees may share leaves, so that all of them together have more weights than there are.
    require_room(visited_ += end - begin);
    const std::int32_t count = last - first + 1;
    std::map<std::int32_t, std::size_t> begins;  // of columns, by target
    for (auto weight = begin; weight != end; ++weight) {
      const auto [place, is_new] = begins.emplace(weight->target, table_.values.size());
      if (is_new) add_column(tree, weight->target, count);
      add_weight(place->second + static_cast<std::size_t>(weight->node - first), weight->value);
    }
    for (const auto& [target, at] : begins) {
      const auto from = table_.present.begin() + static_cast<std::ptrdiff_t>(at);
      if (std::find(from, from + count, 0) != from + count) table_.always[static_cast<std::size_t>(target)] = false;
    }
  }

  void add_column(std::int32_t tree, std::int32_t target, std::int32_t count) {
    const std::size_t begin = table_.values.size(), end = begin + static_cast<std::size_t>(count);
    require_room(static_cast<std::int64_t>(end));
    const std::int32_t first = trees_.leaves[static_cast<std::size_t>(tree)].first;
    columns_[static_cast<std::size_t>(target)].push_back({tree, static_cast<std::int32_t>(begin) - first});
    table_.values.resize(end, absent_);
    table_.present.resize(end, 0);
  }

  // ONNX Runtime takes the first weight of a lone target at a leaf, but combines those of one target among several.
  void add_weight(std::size_t at, double weight) {
    double& value = table_.values[at];
    if (table_.present[at] == 0) value = weight;
    else if (columns_.size() == 1) return;
    else if (absent_ == 0) value += weight;
    else value = absent_ > 0 ? std::min(value, weight) : std::max(value, weight);
    table_.present[at] = 1;
  }

  /// A tree of one leaf, without weights, for targets that have fewer trees than others.
  Column empty_column() {
    if (empty_.tree >= 0) return empty_;
    const auto leaf = static_cast<std::int32_t>(trees_.features.size() - 1);
    empty_ = {static_cast<std::int32_t>(trees_.roots.size()), static_cast<std::int32_t>(table_.values.size()) - leaf};
    trees_.roots.push_back(leaf);
    trees_.leaves.push_back({leaf, leaf});
    table_.values.push_back(absent_);
    table_.present.push_back(0);
    return empty_;
  }

  const OperatorCall& call_;
  TreeEnsemble& trees_;
  std::int64_t targets_;
  double absent_;
  std::int64_t limit_ = 0;
  std::int64_t visited_ = 0;
  std::vector<std::vector<Column>> columns_;  // by target
  Column empty_{-1, 0};
  LeafTable table_;
};

}  // namespace

LeafTable leaf_table(const OperatorCall& call, TreeEnsemble& trees, std::int64_t targets, double absent) {
  if (targets == 1) {
    // A leaf without a weight counts as 0, in minima and maxima, too.
    for (auto leaf = trees.first_leaf; leaf < std::ssize(trees.features); ++leaf) trees.weights.push_back({leaf, 0, 0});
  }
  std::stable_sort(trees.weights.begin(), trees.weights.end(),
                   [](const auto& a, const auto& b) { return a.node < b.node; });
  return LeafTableBuilder(call, trees, targets, absent).finished();
}

}  // namespace tyto::onnx
