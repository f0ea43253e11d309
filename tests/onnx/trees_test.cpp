// SPDX-License-Identifier: MIT
// Tree ensembles of ai.onnx.ml: which stay planned, how deep they may be, and contradicting attributes.
#include <functional>
#include <map>

#include <doctest/doctest.h>
#include <tyto/graph_listing.hpp>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "tests/onnx/model_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::onnx_tests {
namespace {

using Integers = std::vector<std::int64_t>;

Message integers(std::string_view name, const Integers& values) { return attribute(name, values); }

/// A regressor of one stump: 10 where feature 0 is at most 0.5, else 20.
struct Regressor {
  Integers trees{0, 0, 0}, ids{0, 1, 2}, features{0, 0, 0}, if_true{1, 0, 0}, if_false{2, 0, 0};
  std::vector<std::string> modes{"BRANCH_LEQ", "LEAF", "LEAF"};
  std::vector<float> splits{0.5F, 0, 0};
  Integers target_trees{0, 0}, target_nodes{1, 2}, targets{0, 0};
  std::vector<float> weights{10, 20};
  std::int64_t target_count = 1;
  std::map<std::string, Message> more = {};  // by name, in place of those above

  std::string bytes() const {
    std::map<std::string, Message> all = more;
    const auto add = [&](const std::string& name, const Message& each) { all.emplace(name, each); };
    add("nodes_treeids", integers("nodes_treeids", trees));
    add("nodes_nodeids", integers("nodes_nodeids", ids));
    add("nodes_featureids", integers("nodes_featureids", features));
    add("nodes_truenodeids", integers("nodes_truenodeids", if_true));
    add("nodes_falsenodeids", integers("nodes_falsenodeids", if_false));
    add("nodes_modes", texts("nodes_modes", modes));
    add("nodes_values", numbers("nodes_values", splits));
    add("target_treeids", integers("target_treeids", target_trees));
    add("target_nodeids", integers("target_nodeids", target_nodes));
    add("target_ids", integers("target_ids", targets));
    add("target_weights", numbers("target_weights", weights));
    add("n_targets", attribute("n_targets", target_count));
    std::vector<Message> attributes;
    for (const auto& [name, each] : all) attributes.push_back(each);
    return of_attributes("TreeEnsembleRegressor", attributes);
  }

  static std::string of_attributes(std::string_view op, const std::vector<Message>& attributes) {
    Message set;
    set.message(8, operator_set("ai.onnx.ml", 5));
    return model(GraphParts{.nodes = {node(op, {"x"}, {"y"}, attributes, "ai.onnx.ml")},
                            .inputs = {value("x", {"rows", "features"})},
                            .outputs = {value("y", {"rows", "targets"})}}) +
           set.bytes();
  }
};

template <class T>
std::vector<float> results(const std::string& bytes, const std::vector<float>& x, const Shape& shape) {
  return read<T>(bytes)({{"x", T::from(x, shape)}})[0].value.template to_vector<float>();
}

template <class T>
std::string refusal(const std::string& bytes) {
  try {
    results<T>(bytes, {0, 1}, {1, 2});
  } catch (const IoError& error) {
    return error.what();
  }
  return "";
}

void refuses(const std::string& phrase, const std::string& bytes) {
  for (const std::string& text : {refusal<Tensor<Eager>>(bytes), refusal<Tensor<Lazy>>(bytes)}) {
    CAPTURE(phrase);
    CHECK_MESSAGE(text.find("node 'y' (ai.onnx.ml.TreeEnsemble") != std::string::npos, text);
    CHECK_MESSAGE(text.find(phrase) != std::string::npos, text);
  }
}
void refuses(const std::string& phrase, const std::function<void(Regressor&)>& change) {
  Regressor regressor;
  change(regressor);
  refuses(phrase, regressor.bytes());
}

}  // namespace

TEST_CASE_TEMPLATE("a stump tells two values apart, of rows, of one row and of none", T, Tensor<Eager>, Tensor<Lazy>) {
  const std::string bytes = Regressor().bytes();
  CHECK(results<T>(bytes, {0.5F, 9, 0.75F, 9}, {2, 2}) == std::vector<float>{10, 20});
  CHECK(results<T>(bytes, {}, {0, 3}).empty());
  Message set;
  set.message(8, operator_set("ai.onnx.ml", 1));
  OnnxModel<T> scaler = read<T>(
      model(GraphParts{
          .nodes = {node("Scaler", {"x"}, {"y"}, {numbers("offset", {1}), numbers("scale", {2})}, "ai.onnx.ml")},
          .inputs = {value("x", {"n", "m"})},
          .outputs = {value("y", {"n", "m"})}}) +
      set.bytes());
  CHECK(scaler({{"x", T::zeros({0, 3})}})[0].value.shape() == Shape{0, 3});
}

TEST_CASE("trees are planned in one segment, without allocations, and saved as one graph") {
  const testing::TemporaryFolder folder;
  OnnxModel<Tensor<Lazy>> regressor = read<Tensor<Lazy>>(Regressor().bytes());
  static_cast<void>(regressor({{"x", Tensor<Lazy>::zeros({4, 2})}})[0].value.to_vector<float>());
  REQUIRE(regressor.reports().size() == 1);
  CHECK(regressor.reports()[0].unplanned_allocations == 0);
  save_graph(folder / "stump.tyto", regressor.graph({{"x", {3, 2}}}));
  Graph loaded = load_graph(folder / "stump.tyto");
  loaded.set(loaded.inputs()[0], Tensor<Lazy>::from(std::vector<float>{0, 0, 1, 0, 0.5F, 0}, {3, 2}));
  loaded.run();
  CHECK(loaded.output(0).to_vector<float>() == std::vector<float>{10, 20, 10});
  write_onnx(folder / "stump.onnx", regressor.graph({{"x", {3, 2}}}));
  OnnxModel<Tensor<Eager>> written = read_onnx<Tensor<Eager>>(folder / "stump.onnx");
  const auto y =
      written({{written.inputs()[0].name, Tensor<Eager>::from(std::vector<float>{0, 0, 1, 0, 0.5F, 0}, {3, 2})}});
  CHECK(y[0].value.to_vector<float>() == std::vector<float>{10, 20, 10});
}

TEST_CASE("what trees say does not change with their input, so it has no gradient") {
  for (const bool compiled : {false, true}) {
    OnnxModel<Tensor<Lazy>> regressor = read<Tensor<Lazy>>(Regressor().bytes());
    const auto gradient = [&](Tensor<Lazy> x) {
      return grad([&](Tensor<Lazy> in) { return sum(regressor({{"x", in}})[0].value * 3.0 + sum(in * 2.0)); })(x);
    };
    const Tensor<Lazy> x = Tensor<Lazy>::from(std::vector<float>{0, 1}, {1, 2});
    CHECK((compiled ? compile(gradient)(x) : gradient(x)).to_vector<float>() == std::vector<float>{2, 2});
  }
}

TEST_CASE_TEMPLATE("a tree may be a chain of ten thousand nodes", T, Tensor<Eager>, Tensor<Lazy>) {
  // Node i asks whether the feature is below i; leaf i says i.
  constexpr std::int64_t length = 10'000;
  Regressor chain;
  for (auto* list : {&chain.trees, &chain.ids, &chain.features, &chain.if_true, &chain.if_false, &chain.target_trees,
                     &chain.target_nodes, &chain.targets}) {
    list->clear();
  }
  chain.modes.clear();
  chain.splits.clear();
  chain.weights.clear();
  for (std::int64_t i = 0; i <= 2 * length; ++i) {
    const bool leaf = i >= length;
    chain.trees.push_back(0);
    chain.ids.push_back(i);
    chain.features.push_back(0);
    chain.modes.emplace_back(leaf ? "LEAF" : "BRANCH_LT");
    chain.splits.push_back(leaf ? 0 : static_cast<float>(i));
    chain.if_true.push_back(leaf ? 0 : length + i);
    chain.if_false.push_back(leaf ? 0 : (i + 1 < length ? i + 1 : 2 * length));
    if (!leaf) continue;
    chain.target_trees.push_back(0);
    chain.target_nodes.push_back(i);
    chain.targets.push_back(0);
    chain.weights.push_back(static_cast<float>(i - length));
  }
  CHECK(results<T>(chain.bytes(), {-1, 0.5F, 41.5F, 9998.5F, 1e6F}, {5, 1}) ==
        std::vector<float>{0, 1, 42, 9999, 10'000});
}

namespace {

/// The number of iterations of a graph's only loop.
std::string trips_of(const Graph& graph) {
  for (const ListedNode& each : list_graph(graph).nodes) {
    if (const Attribute* trips = each.attributes.find("trips")) return trips->to_string();
  }
  return "";
}

}  // namespace

TEST_CASE_TEMPLATE("a large set of members is searched in few steps", T, Tensor<Eager>, Tensor<Lazy>) {
  // Even numbers up to 2000, in no order, are members.
  std::vector<float> members;
  for (int i = 0; i < 1000; ++i) members.push_back(static_cast<float>(i * 7 % 1000 * 2));
  const std::string bytes = Regressor::of_attributes(
      "TreeEnsemble",
      {integers("nodes_featureids", {0}), integers("nodes_truenodeids", {0}), integers("nodes_falsenodeids", {1}),
       integers("nodes_trueleafs", {1}), integers("nodes_falseleafs", {1}), integers("tree_roots", {0}),
       integers("leaf_targetids", {0, 0}), attribute("n_targets", std::int64_t{1}),
       tensor_attribute("nodes_modes", raw_tensor<std::uint8_t>("", {1}, {6})),
       tensor_attribute("nodes_splits", raw_tensor<float>("", {1}, {0})),
       tensor_attribute("membership_values", raw_tensor<float>("", {1000}, members)),
       tensor_attribute("leaf_weights", raw_tensor<float>("", {2}, {1, -1}))});
  CHECK(results<T>(bytes, {0, 1, 2, 998, 1998, 2000, -2, 1.5F}, {8, 1}) ==
        std::vector<float>{1, -1, 1, 1, 1, -1, -1, -1});
  CHECK(trips_of(read<Tensor<Lazy>>(bytes).graph({{"x", {8, 1}}})) == "10");
}

TEST_CASE("trees that contradict themselves are refused by node and attribute") {
  refuses("nodes_truenodeids says 7 for node 0 of tree 0", [](Regressor& r) { r.if_true[0] = 7; });
  refuses("nodes_falsenodeids says -1 for node 0 of tree 0", [](Regressor& r) { r.if_false[0] = -1; });
  refuses("nodes_nodeids lists node 1 of tree 0 twice", [](Regressor& r) { r.ids[2] = 1; });
  refuses("nodes_modes has 'BRANCH_XX' for node 0 of tree 0", [](Regressor& r) { r.modes[0] = "BRANCH_XX"; });
  refuses("nodes_featureids has -3", [](Regressor& r) { r.features[0] = -3; });
  refuses("no axis is so long", [](Regressor& r) { r.features[0] = std::int64_t{1} << 40; });
  refuses("has no feature 2, which nodes_featureids names", [](Regressor& r) { r.features[0] = 2; });
  refuses("target_nodeids says node 5 of tree 0", [](Regressor& r) { r.target_nodes[0] = 5; });
  refuses("target_nodeids says node 1 of tree 3", [](Regressor& r) { r.target_trees[0] = 3; });
  refuses("target_ids has 1; there are 1", [](Regressor& r) { r.targets[0] = 1; });
  refuses("target_ids has -1", [](Regressor& r) { r.targets[0] = -1; });
  refuses("n_targets is 0", [](Regressor& r) { r.target_count = 0; });
  refuses("lead from node 0 of tree 0 back to it", [](Regressor& r) { r.if_true[0] = 0; });
  refuses("lead from node 0 of tree 0 back to it", [](Regressor& r) {
    r.modes[1] = "BRANCH_GT";
    r.if_true[1] = 2;
    r.if_false[1] = 0;
  });
}

TEST_CASE("attributes of trees that are missing, of other lengths or of other kinds are refused") {
  refuses("attribute 'nodes_nodeids' lists no nodes", [](Regressor& r) { r.ids.clear(); });
  for (const char* name : {"nodes_treeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids"}) {
    const std::string expected = std::string("attribute '") + name + "' has 0 elements, expected 3";
    refuses(expected, [&](Regressor& r) { r.more.emplace(name, integers(name, {})); });
  }
  refuses("'nodes_modes' has 2 elements, expected 3", [](Regressor& r) { r.modes.pop_back(); });
  refuses("'nodes_values' has 4 elements, expected 3", [](Regressor& r) { r.splits.push_back(0); });
  refuses("'target_weights' has 1 elements, expected 2", [](Regressor& r) { r.weights.pop_back(); });
  refuses("'target_treeids' has 1 elements, expected 2", [](Regressor& r) { r.target_trees.pop_back(); });
  refuses("'nodes_missing_value_tracks_true' has 1 elements, expected 3",
          [](Regressor& r) { r.more.emplace("m", integers("nodes_missing_value_tracks_true", {1})); });
  refuses("attributes 'nodes_values' and 'nodes_values_as_tensor' are both given", [](Regressor& r) {
    r.more.emplace("v", tensor_attribute("nodes_values_as_tensor", raw_tensor<double>("", {3}, {0, 0, 0})));
  });
  refuses("base_values has 2 elements for 1 targets", [](Regressor& r) {
    r.more.emplace("b", numbers("base_values", {1, 2}));
  });
  refuses("attribute 'n_targets' is missing",
          [](Regressor& r) { r.more.emplace("n_targets", integers("nodes_hitrates", {})); });
  refuses("is of kind", [](Regressor& r) { r.more.emplace("nodes_nodeids", numbers("nodes_nodeids", {0, 1, 2})); });
  refuses("post_transform 'SIGMOID'",
          [](Regressor& r) { r.more.emplace("p", text_attribute("post_transform", "SIGMOID")); });
  refuses("aggregate_function 'PRODUCT'",
          [](Regressor& r) { r.more.emplace("a", text_attribute("aggregate_function", "PRODUCT")); });
  refuses("attribute 'weights' is not known", [](Regressor& r) { r.more.emplace("w", numbers("weights", {1})); });
}

TEST_CASE("tables of weights that a file asks for without listing them are refused") {
  refuses("need a table of more than", [](Regressor& r) { r.target_count = std::int64_t{1} << 31; });
  // A tree with as many targets as leaves, each in one leaf.
  refuses("need a table of more than", [](Regressor& r) {
    constexpr std::int64_t leaves = 4000;
    r = Regressor();
    r.target_count = leaves;
    for (auto* list :
         {&r.trees, &r.ids, &r.features, &r.if_true, &r.if_false, &r.target_trees, &r.target_nodes, &r.targets}) {
      list->clear();
    }
    r.modes.clear();
    r.splits.clear();
    r.weights.clear();
    for (std::int64_t i = 0; i < 2 * leaves - 1; ++i) {
      const bool leaf = i >= leaves - 1;
      r.trees.push_back(0);
      r.ids.push_back(i);
      r.features.push_back(0);
      r.modes.emplace_back(leaf ? "LEAF" : "BRANCH_LT");
      r.splits.push_back(0);
      r.if_true.push_back(leaf ? 0 : 2 * i + 1);
      r.if_false.push_back(leaf ? 0 : 2 * i + 2);
      if (!leaf) continue;
      r.target_trees.push_back(0);
      r.target_nodes.push_back(i);
      r.targets.push_back(i - leaves + 1);
      r.weights.push_back(1);
    }
  });
}

TEST_CASE("TreeEnsemble refuses positions beyond its lists") {
  const auto with = [](const std::string& name, const Message& change) {
    std::map<std::string, Message> all;
    all.emplace(name, change);
    const auto add = [&](const std::string& each, const Message& m) { all.emplace(each, m); };
    for (const char* list : {"nodes_featureids", "nodes_truenodeids", "tree_roots"}) add(list, integers(list, {0}));
    add("nodes_falsenodeids", integers("nodes_falsenodeids", {1}));
    for (const char* list : {"nodes_trueleafs", "nodes_falseleafs"}) add(list, integers(list, {1}));
    add("leaf_targetids", integers("leaf_targetids", {0, 0}));
    add("n_targets", attribute("n_targets", std::int64_t{1}));
    add("nodes_modes", tensor_attribute("nodes_modes", raw_tensor<std::uint8_t>("", {1}, {0})));
    add("nodes_splits", tensor_attribute("nodes_splits", raw_tensor<float>("", {1}, {0})));
    add("leaf_weights", tensor_attribute("leaf_weights", raw_tensor<float>("", {2}, {1, -1})));
    std::vector<Message> attributes;
    for (const auto& [key, each] : all) attributes.push_back(each);
    return Regressor::of_attributes("TreeEnsemble", attributes);
  };
  CHECK(results<Tensor<Eager>>(with("n_targets", attribute("n_targets", std::int64_t{1})), {-1, 1}, {2, 1}) ==
        std::vector<float>{1, -1});
  refuses("nodes_truenodeids says 2 for node 0; there are 2 leaves",
          with("nodes_truenodeids", integers("nodes_truenodeids", {2})));
  refuses("nodes_falsenodeids says -1 for node 0", with("nodes_falsenodeids", integers("nodes_falsenodeids", {-1})));
  refuses("lead from node 0 back to it", with("nodes_trueleafs", integers("nodes_trueleafs", {0})));
  refuses("tree_roots has 1; there are 1 nodes", with("tree_roots", integers("tree_roots", {1})));
  refuses("attribute 'tree_roots' lists no trees", with("tree_roots", integers("tree_roots", {})));
  refuses("leaf_targetids has 3", with("leaf_targetids", integers("leaf_targetids", {0, 3})));
  refuses("nodes_modes has 9 for node 0",
          with("nodes_modes", tensor_attribute("nodes_modes", raw_tensor<std::uint8_t>("", {1}, {9}))));
  refuses("'leaf_weights' has 1 elements, expected 2",
          with("leaf_weights", tensor_attribute("leaf_weights", raw_tensor<float>("", {1}, {1}))));
  refuses("post_transform is 5", with("post_transform", attribute("post_transform", std::int64_t{5})));
  refuses("aggregate_function is -1", with("aggregate_function", attribute("aggregate_function", std::int64_t{-1})));
}

}  // namespace tyto::onnx_tests
