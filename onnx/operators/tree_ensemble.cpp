// SPDX-License-Identifier: MIT
// Reads trees from attributes, and checks them: these may say anything.
#include "onnx/operators/tree_ensemble.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

// In the order in which TreeEnsemble numbers them.
enum class NodeMode : std::uint8_t { leq, lt, gte, gt, eq, neq, member, leaf };
constexpr std::array<std::string_view, 8> mode_names = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                                        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};

/// Whether a value below, at or above the split, or NaN, goes to the true child. Comparisons with NaN are false, except
/// for unequal.
constexpr std::array<std::array<bool, outcomes>, 6> truths = {{{true, true, false, false},
                                                               {true, false, false, false},
                                                               {false, true, true, false},
                                                               {false, false, true, false},
                                                               {false, true, false, false},
                                                               {true, false, true, true}}};

/// Ids of nodes and targets are far below this in any file; steps through tables count in 32 bits.
constexpr std::int64_t most_nodes = std::int64_t{1} << 28;

/// A node as the file describes it; children are positions in the list of nodes, which in `linked_trees` leaves follow.
struct StatedNode {
  NodeMode mode = NodeMode::leaf;
  std::int64_t feature = 0;
  double split = 0;
  bool missing_goes_true = false;
  std::int64_t if_true = 0, if_false = 0;
  std::vector<double> members = {};
};

/// Makes the tables: inner nodes first, in their order, then leaves, in theirs.
class TreeBuilder {
 public:
  TreeBuilder(const OperatorCall& call, const std::vector<StatedNode>& nodes) : call_(call) {
    for (const StatedNode& node : nodes) inner_ += node.mode == NodeMode::leaf ? 0 : 1;
    std::int64_t sets = 0;
    for (const StatedNode& node : nodes) sets += std::max<std::int64_t>(std::ssize(node.members) - 1, 0);
    if (std::ssize(nodes) + sets >= most_nodes) call.refuse(nodes.size(), " nodes, more than ", most_nodes);
    trees_.first_leaf = static_cast<std::int32_t>(inner_ + sets);
    std::int64_t inner = 0, leaf = trees_.first_leaf;
    for (const StatedNode& node : nodes) {
      numbers_.push_back(static_cast<std::int32_t>(node.mode == NodeMode::leaf ? leaf++ : inner++));
    }
    const auto count = static_cast<std::size_t>(leaf);
    trees_.features.resize(count, 0);
    trees_.splits.resize(count, 0);
    trees_.next.resize(count * outcomes);
    for (std::size_t i = 0; i < nodes.size(); ++i) add(nodes[i], numbers_[i]);
  }

  std::int32_t number_of(std::size_t listed) const { return numbers_[listed]; }

  /// The trees with these roots. `described` names a node for messages.
  template <class F>
  TreeEnsemble with_roots(std::vector<std::int32_t> roots, const F& described) {
    trees_.roots = std::move(roots);
    const std::size_t count = trees_.features.size();
    depths_.assign(count, unknown);
    ranges_.resize(count);
    for (const std::int32_t root : trees_.roots) {
      const std::int32_t on_circle = measure(root);
      if (on_circle >= 0) {
        const auto listed = std::find(numbers_.begin(), numbers_.end(), on_circle) - numbers_.begin();
        call_.refuse("nodes_truenodeids and nodes_falsenodeids lead from ", described(static_cast<std::size_t>(listed)),
                     " back to it");
      }
      trees_.depth = std::max(trees_.depth, depths_[static_cast<std::size_t>(root)]);
      trees_.leaves.push_back(ranges_[static_cast<std::size_t>(root)]);
    }
    return std::move(trees_);
  }

 private:
  static constexpr std::int64_t unknown = -1, entered = -2;

  void add(const StatedNode& node, std::int32_t number) {
    const auto at = static_cast<std::size_t>(number);
    if (node.mode == NodeMode::leaf) {
      for (std::size_t k = 0; k < outcomes; ++k) trees_.next[at * outcomes + k] = number;
      return;
    }
    trees_.features_needed = std::max(trees_.features_needed, node.feature + 1);
    const std::int32_t if_true = numbers_[static_cast<std::size_t>(node.if_true)],
                       if_false = numbers_[static_cast<std::size_t>(node.if_false)];
    if (node.mode == NodeMode::member) {
      add_set(node, number, node.members, if_true, if_false);
      return;
    }
    std::array<std::int32_t, outcomes> next = {};
    for (std::size_t k = 0; k < outcomes; ++k) {
      next[k] = truths[static_cast<std::size_t>(node.mode)][k] ? if_true : if_false;
    }
    store(node, number, node.split, next, if_true);
  }

  // Membership in a set is a balanced search for one of its members.
  void add_set(const StatedNode& node, std::int32_t number, std::span<const double> members, std::int32_t if_true,
               std::int32_t if_false) {
    if (members.empty()) {
      store(node, number, 0, {if_false, if_false, if_false, if_false}, if_true);
      return;
    }
    const std::size_t middle = members.size() / 2;
    std::array<std::int32_t, outcomes> next = {if_false, if_true, if_false, if_false};
    const std::array<std::span<const double>, 2> halves = {members.first(middle), members.subspan(middle + 1)};
    for (const std::size_t half : {std::size_t{0}, std::size_t{1}}) {
      if (halves[half].empty()) continue;
      next[2 * half] = static_cast<std::int32_t>(inner_++);
      add_set(node, next[2 * half], halves[half], if_true, if_false);
    }
    store(node, number, members[middle], next, if_true);
  }

  void store(const StatedNode& node, std::int32_t number, double split, std::array<std::int32_t, outcomes> next,
             std::int32_t if_true) {
    const auto at = static_cast<std::size_t>(number);
    if (node.missing_goes_true) next[outcomes - 1] = if_true;
    trees_.features[at] = static_cast<std::int32_t>(node.feature);
    trees_.splits[at] = split;
    std::copy(next.begin(), next.end(), trees_.next.begin() + static_cast<std::ptrdiff_t>(at * outcomes));
  }

  // How deep leaves lie below a node and which they are, without recursion: a tree may be as deep as the file is long.
  // Gives a node that can be reached from itself, or -1.
  std::int32_t measure(std::int32_t root) {
    std::vector<std::pair<std::int32_t, std::int32_t>> way;  // nodes, and how many of their children were seen
    const auto enter = [&](std::int32_t node) {
      if (node >= trees_.first_leaf) {
        depths_[static_cast<std::size_t>(node)] = 0;
        ranges_[static_cast<std::size_t>(node)] = {node, node};
        return;
      }
      depths_[static_cast<std::size_t>(node)] = entered;
      ranges_[static_cast<std::size_t>(node)] = {std::numeric_limits<std::int32_t>::max(), 0};
      way.emplace_back(node, 0);
    };
    if (depths_[static_cast<std::size_t>(root)] == unknown) enter(root);
    while (!way.empty()) {
      const std::int32_t node = way.back().first;
      const auto at = static_cast<std::size_t>(node);
      if (way.back().second < outcomes) {
        const std::int32_t child = trees_.next[at * outcomes + static_cast<std::size_t>(way.back().second++)];
        const std::int64_t depth = depths_[static_cast<std::size_t>(child)];
        if (depth == entered) return child;
        if (depth == unknown) enter(child);
        continue;
      }
      std::int64_t deepest = 0;
      for (std::size_t k = 0; k < outcomes; ++k) {
        const auto child = static_cast<std::size_t>(trees_.next[at * outcomes + k]);
        deepest = std::max(deepest, depths_[child]);
        ranges_[at].first = std::min(ranges_[at].first, ranges_[child].first);
        ranges_[at].last = std::max(ranges_[at].last, ranges_[child].last);
      }
      depths_[at] = deepest + 1;
      way.pop_back();
    }
    return -1;
  }

  const OperatorCall& call_;
  TreeEnsemble trees_;
  std::int64_t inner_ = 0;             // inner nodes so far; those that sets need come behind those that are listed
  std::vector<std::int32_t> numbers_;  // by position in the list
  std::vector<std::int64_t> depths_;   // by node
  std::vector<TreeEnsemble::LeafRange> ranges_;
};

/// Where nodes stand in the list, by tree and id.
class NodePlaces {
 public:
  NodePlaces(const std::vector<std::int64_t>& trees, const std::vector<std::int64_t>& ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) sorted_.push_back({trees[i], ids[i], i});
    std::sort(sorted_.begin(), sorted_.end());
  }
  std::optional<std::size_t> listed_twice() const {
    const auto twice = std::adjacent_find(sorted_.begin(), sorted_.end(), [](const Entry& a, const Entry& b) {
      return a.tree == b.tree && a.id == b.id;
    });
    return twice == sorted_.end() ? std::nullopt : std::optional(twice->place);
  }
  std::optional<std::size_t> find(std::int64_t tree, std::int64_t id) const {
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), Entry{tree, id, 0});
    if (found == sorted_.end() || found->tree != tree || found->id != id) return std::nullopt;
    return found->place;
  }
  /// The node of each tree that is listed first, in the order of the list.
  std::vector<std::size_t> first_of_trees() const {
    std::vector<std::size_t> firsts;
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      if (i == 0 || sorted_[i].tree != sorted_[i - 1].tree) firsts.push_back(sorted_[i].place);
      else firsts.back() = std::min(firsts.back(), sorted_[i].place);
    }
    std::sort(firsts.begin(), firsts.end());
    return firsts;
  }

 private:
  struct Entry {
    std::int64_t tree, id;
    std::size_t place;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> sorted_;
};

void require_size(const OperatorCall& call, const std::string& name, std::size_t size, const char* beside,
                  std::size_t expected) {
  if (size != expected) {
    call.refuse("attribute '", name, "' has ", size, " elements, expected ", expected, " as '", beside, "' has");
  }
}

void require_feature(const OperatorCall& call, std::int64_t feature) {
  if (feature < 0) call.refuse("nodes_featureids has ", feature, "; features are 0 and more");
  call.require_bounded("nodes_featureids", feature);
}

std::int32_t checked_target(const OperatorCall& call, const std::string& name, std::int64_t target,
                            std::int64_t targets) {
  if (target < 0 || target >= targets) call.refuse(name, " has ", target, "; there are ", targets, " targets");
  return static_cast<std::int32_t>(target);
}

}  // namespace

std::vector<double> listed_numbers(const OperatorCall& call, const std::string& name) {
  const std::string as_tensor = name + "_as_tensor";
  std::vector<double> numbers = call.numbers(name.c_str());
  if (!call.has(as_tensor.c_str())) return numbers;
  if (!numbers.empty()) call.refuse("attributes '", name, "' and '", as_tensor, "' are both given");
  return cast(call.tensor(as_tensor.c_str()).tensor, DType::f64).to_vector<double>();
}

TreeEnsemble listed_trees(const OperatorCall& call, const std::string& prefix, std::int64_t targets) {
  const std::vector<std::int64_t>&trees = call.integers("nodes_treeids"), &ids = call.integers("nodes_nodeids"),
        &features = call.integers("nodes_featureids"), &true_ids = call.integers("nodes_truenodeids"),
        &false_ids = call.integers("nodes_falsenodeids"), &missing = call.integers("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = call.texts("nodes_modes");
  const std::vector<double> splits = listed_numbers(call, "nodes_values");
  call.ignore("nodes_hitrates");
  call.ignore("nodes_hitrates_as_tensor");
  const std::size_t count = ids.size();
  if (count == 0) call.refuse("attribute 'nodes_nodeids' lists no nodes");
  const auto require = [&](const char* name, std::size_t size) {
    require_size(call, name, size, "nodes_nodeids", count);
  };
  require("nodes_treeids", trees.size());
  require("nodes_featureids", features.size());
  require("nodes_truenodeids", true_ids.size());
  require("nodes_falsenodeids", false_ids.size());
  require("nodes_modes", modes.size());
  require("nodes_values", splits.size());
  if (!missing.empty()) require("nodes_missing_value_tracks_true", missing.size());

  const auto described = [&](std::size_t i) { return core::text("node ", ids[i], " of tree ", trees[i]); };
  const NodePlaces places(trees, ids);
  if (const std::optional<std::size_t> twice = places.listed_twice()) {
    call.refuse("nodes_nodeids lists ", described(*twice), " twice");
  }
  const auto child = [&](const char* name, std::size_t i, std::int64_t id) {
    const std::optional<std::size_t> found = places.find(trees[i], id);
    if (!found) call.refuse(name, " says ", id, " for ", described(i), ", whose tree has no such node");
    return static_cast<std::int64_t>(*found);
  };
  std::vector<StatedNode> nodes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* mode = std::find(mode_names.begin(), mode_names.end(), modes[i]);
    if (mode == mode_names.end() || modes[i] == "BRANCH_MEMBER") {
      call.refuse("nodes_modes has '", modes[i], "' for ", described(i),
                  "; known are BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ and LEAF");
    }
    nodes[i].mode = static_cast<NodeMode>(mode - mode_names.begin());
    if (nodes[i].mode == NodeMode::leaf) continue;
    require_feature(call, features[i]);
    nodes[i].feature = features[i];
    nodes[i].split = splits[i];
    nodes[i].missing_goes_true = !missing.empty() && missing[i] == 1;
    nodes[i].if_true = child("nodes_truenodeids", i, true_ids[i]);
    nodes[i].if_false = child("nodes_falsenodeids", i, false_ids[i]);
  }
  TreeBuilder builder(call, nodes);
  std::vector<std::int32_t> root_numbers;
  for (const std::size_t root : places.first_of_trees()) root_numbers.push_back(builder.number_of(root));
  TreeEnsemble ensemble = builder.with_roots(std::move(root_numbers), described);

  const auto attribute = [&](const char* name) { return prefix + name; };
  const std::vector<std::int64_t>&weight_trees = call.integers(attribute("_treeids").c_str()),
        &weight_nodes = call.integers(attribute("_nodeids").c_str()),
        &weight_targets = call.integers(attribute("_ids").c_str());
  const std::vector<double> values = listed_numbers(call, attribute("_weights"));
  const std::string beside = attribute("_ids");
  require_size(call, attribute("_treeids"), weight_trees.size(), beside.c_str(), weight_targets.size());
  require_size(call, attribute("_nodeids"), weight_nodes.size(), beside.c_str(), weight_targets.size());
  require_size(call, attribute("_weights"), values.size(), beside.c_str(), weight_targets.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<std::size_t> found = places.find(weight_trees[i], weight_nodes[i]);
    if (!found) {
      call.refuse(attribute("_nodeids"), " says node ", weight_nodes[i], " of tree ", weight_trees[i],
                  "; there is no such node");
    }
    const std::int32_t leaf = builder.number_of(*found);
    const std::int32_t target = checked_target(call, beside, weight_targets[i], targets);
    // Old converters wrote weights of inner nodes too, where no row ends.
    ensemble.weights.push_back({leaf, target, values[i]});
  }
  return ensemble;
}

TreeEnsemble linked_trees(const OperatorCall& call, std::int64_t targets) {
  const auto numbers = [&](const char* name) {
    return call.has(name) ? cast(call.tensor(name).tensor, DType::f64).to_vector<double>() : std::vector<double>();
  };
  const std::vector<std::int64_t>&features = call.integers("nodes_featureids"),
        &true_ids = call.integers("nodes_truenodeids"), &false_ids = call.integers("nodes_falsenodeids"),
        &true_leafs = call.integers("nodes_trueleafs"), &false_leafs = call.integers("nodes_falseleafs"),
        &missing = call.integers("nodes_missing_value_tracks_true"), &roots = call.integers("tree_roots"),
        &leaf_targets = call.integers("leaf_targetids");
  const std::vector<double> splits = numbers("nodes_splits"), modes = numbers("nodes_modes"),
                            members = numbers("membership_values"), leaf_weights = numbers("leaf_weights");
  call.ignore("nodes_hitrates");
  const std::size_t count = features.size();
  const auto require = [&](const char* name, std::size_t size) {
    require_size(call, name, size, "nodes_featureids", count);
  };
  require("nodes_truenodeids", true_ids.size());
  require("nodes_falsenodeids", false_ids.size());
  require("nodes_trueleafs", true_leafs.size());
  require("nodes_falseleafs", false_leafs.size());
  require("nodes_splits", splits.size());
  require("nodes_modes", modes.size());
  if (!missing.empty()) require("nodes_missing_value_tracks_true", missing.size());
  require_size(call, "leaf_weights", leaf_weights.size(), "leaf_targetids", leaf_targets.size());
  if (roots.empty()) call.refuse("attribute 'tree_roots' lists no trees");

  const auto described = [&](std::size_t i) { return core::text("node ", i); };
  const auto child = [&](const char* name, std::size_t i, std::int64_t id, bool leaf) {
    const std::int64_t limit = leaf ? std::ssize(leaf_targets) : static_cast<std::int64_t>(count);
    if (id < 0 || id >= limit) {
      call.refuse(name, " says ", id, " for node ", i, "; there are ", limit, leaf ? " leaves" : " nodes");
    }
    return id + (leaf ? static_cast<std::int64_t>(count) : 0);
  };
  std::vector<StatedNode> nodes(count + leaf_targets.size());
  auto next_member = members.begin();
  for (std::size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= static_cast<double>(NodeMode::member))) {
      call.refuse("nodes_modes has ", modes[i], " for node ", i, "; known are 0 to 6");
    }
    require_feature(call, features[i]);
    nodes[i].mode = static_cast<NodeMode>(static_cast<int>(modes[i]));
    nodes[i].feature = features[i];
    nodes[i].split = splits[i];
    nodes[i].missing_goes_true = !missing.empty() && missing[i] == 1;
    nodes[i].if_true = child("nodes_truenodeids", i, true_ids[i], true_leafs[i] != 0);
    nodes[i].if_false = child("nodes_falsenodeids", i, false_ids[i], false_leafs[i] != 0);
    if (nodes[i].mode != NodeMode::member) continue;
    // The sets of all such nodes, one behind the other, are divided by NaN.
    const auto end = std::find_if(next_member, members.end(), [](double x) { return std::isnan(x); });
    std::vector<double>& set = nodes[i].members;
    set.assign(next_member, end);
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    next_member = end == members.end() ? end : end + 1;
  }
  TreeBuilder builder(call, nodes);
  std::vector<std::int32_t> root_numbers;
  for (const std::int64_t root : roots) {
    if (root < 0 || root >= static_cast<std::int64_t>(count)) {
      call.refuse("tree_roots has ", root, "; there are ", count, " nodes");
    }
    root_numbers.push_back(builder.number_of(static_cast<std::size_t>(root)));
  }
  TreeEnsemble ensemble = builder.with_roots(std::move(root_numbers), described);
  for (std::size_t i = 0; i < leaf_targets.size(); ++i) {
    const std::int32_t target = checked_target(call, "leaf_targetids", leaf_targets[i], targets);
    ensemble.weights.push_back({builder.number_of(count + i), target, leaf_weights[i]});
  }
  return ensemble;
}

}  // namespace tyto::onnx
