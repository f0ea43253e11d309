// SPDX-License-Identifier: MIT
// Graphs of models for certain values, where shapes depend on elements.
#include <algorithm>
#include <optional>

#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include "tests/onnx/model_text.hpp"

namespace tyto::onnx_tests::recording_test {
namespace {

using L = Tensor<Lazy>;
using Floats = std::vector<float>;

}  // namespace

TEST_CASE("a model with shapes that depend on elements is a graph for values, with its profile") {
  OnnxModel<L> f = read<L>(model({.nodes = {node("Relu", {"x"}, {"r"}), node("NonZero", {"r"}, {"p"}),
                                            node("Squeeze", {"p", "zero"}, {"q"}), node("Gather", {"x", "q"}, {"g"}),
                                            node("Mul", {"g", "g"}, {"y"}), node("TopK", {"y", "k"}, {"t", "i"})},
                                  .inputs = {value("x", {"n"}), value("k", {"1"}, DType::i64)},
                                  .outputs = {value("y", {"m"}), value("t", {"k"}), value("i", {"k"}, DType::i64)},
                                  .initialisers = {raw_tensor<std::int64_t>("zero", {1}, {0})}}));
  CHECK_THROWS_AS(f.graph({{"x", {4}}, {"k", {1}}}), GraphError);
  const NamedList<L> given{{"x", L{1.0, -2.0, 3.0, 2.0}}, {"k", L{2}}};
  Graph graph = f.graph_for(given);
  const GraphProfile profile = graph.profile();  // the values are there
  CHECK(graph.output(0).to_vector<float>() == Floats{1, 9, 4});
  CHECK(graph.output(1).to_vector<float>() == Floats{9, 4});
  CHECK(graph.output(2).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 2});
  const auto step = [&](const char* name) {
    return std::count_if(profile.steps.begin(), profile.steps.end(),
                         [&](const StepProfile& each) { return each.label.find(name) != std::string::npos; });
  };
  CHECK(step("p' (NonZero)") == 1);
  CHECK(step("t' (TopK)") == 1);
  CHECK(graph.plan().height > 0);
  CHECK(graph.html().find("NonZero") != std::string::npos);
  // For other values with as many elements it runs as well, and for others it says why not.
  graph.set(graph.inputs()[0], L{-1.0, 5.0, 6.0, 4.0});
  graph.run();
  CHECK(graph.output(1).to_vector<float>() == Floats{36, 25});
  graph.set(graph.inputs()[0], L{-1.0, -5.0, 6.0, 4.0});
  CHECK_THROWS_WITH_AS(graph.run(),
                       doctest::Contains("node 'p' (NonZero): its results have other shapes than with the values that "
                                         "the graph was made for"),
                       GraphError);
  CHECK_THROWS_AS(graph.to_bytes(), GraphError);
}

TEST_CASE("a graph for values outlives its model, and is the plain graph where nothing depends on elements") {
  std::optional<Graph> graph;
  {
    OnnxModel<L> f = read<L>(model({.nodes = {node("NonZero", {"x"}, {"y"})},
                                    .inputs = {value("x", {"n"})},
                                    .outputs = {value("y", {"1", "m"}, DType::i64)}}));
    graph = f.graph_for({{"x", L{0.0, 1.0, 2.0}}});
  }
  graph->run();
  CHECK(graph->output(0).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 2});
  OnnxModel<Tensor<Eager>> plain = read<Tensor<Eager>>(
      model({.nodes = {node("Neg", {"x"}, {"y"})}, .inputs = {value("x", {"n"})}, .outputs = {value("y", {"n"})}}));
  Graph saved = Graph::from_bytes(plain.graph_for({{"x", Tensor<Eager>{1.0, 2.0}}}).to_bytes());
  saved.set(saved.inputs()[0], L{3.0, 4.0});
  saved.run();
  CHECK(saved.output(0).to_vector<float>() == Floats{-3, -4});
}

TEST_CASE("sequences and loops that data lengthens stand in a graph for values") {
  const Message body = graph({.nodes = {node("Add", {"h", "one"}, {"hn"}), node("Less", {"hn", "end"}, {"goes"}),
                                        node("Identity", {"hn"}, {"row"})},
                              .inputs = {value("i", {}, DType::i64), value("go", {}, DType::boolean), value("h", {})},
                              .outputs = {value("goes", {}, DType::boolean), value("hn", {}), value("row", {})}});
  OnnxModel<L> f =
      read<L>(model({.nodes = {node("Loop", {"", "", "x"}, {"last", "rows"}, {graph_attribute("body", body)}),
                               node("SplitToSequence", {"rows", "lengths"}, {"s"}),
                               node("ConcatFromSequence", {"s"}, {"y"}, {attribute("axis", std::int64_t{0})})},
                     .inputs = {value("x", {}), value("end", {}), value("lengths", {"k"}, DType::i64)},
                     .outputs = {value("y", {"n"})},
                     .initialisers = {raw_tensor<float>("one", {}, {1})}}));
  Graph graph = f.graph_for({{"x", L(0.5)}, {"end", L(3.0)}, {"lengths", L{2, 1}}});
  graph.run();
  CHECK(graph.output(0).to_vector<float>() == Floats{1.5, 2.5, 3.5});
  graph.set(graph.inputs()[0], L(0.25));
  graph.run();
  CHECK(graph.output(0).to_vector<float>() == Floats{1.25, 2.25, 3.25});
}

TEST_CASE("each run of a graph for values keeps to the limits of its model") {
  const Message body = graph(
      {.nodes = {node("Identity", {"go"}, {"goes"}), node("Identity", {"h"}, {"hn"}), node("Add", {"h", "h"}, {"row"})},
       .inputs = {value("i", {}, DType::i64), value("go", {}, DType::boolean), value("h", {"2"})},
       .outputs = {value("goes", {}, DType::boolean), value("hn", {"2"}), value("row", {"2"})}});
  OnnxModel<L> f = read<L>(model({.nodes = {node("Loop", {"n", "", "x"}, {"h", "y"}, {graph_attribute("body", body)})},
                                  .inputs = {value("x", {"2"}), value("n", {}, DType::i64)},
                                  .outputs = {value("y", {"k", "2"})}}),
                           {.max_bytes = 10'000, .max_iterations = 3});
  const auto given = [](std::int64_t n) { return NamedList<L>{{"x", L{1.0, 2.0}}, {"n", L::full({}, n, DType::i64)}}; };
  Graph graph = f.graph_for(given(3));
  for (int i = 0; i < 3; ++i) {
    graph.set(graph.inputs()[0], L{1.0 + i, 2.0});
    graph.run();
    CHECK(graph.output(0).to_vector<float>() == Floats{2.0F + 2.0F * static_cast<float>(i), 4,
                                                       2.0F + 2.0F * static_cast<float>(i), 4,
                                                       2.0F + 2.0F * static_cast<float>(i), 4});
  }
  CHECK_THROWS_AS(f.graph_for(given(4)), LimitError);
  graph.set(graph.inputs()[1], L::full({}, 4, DType::i64));
  CHECK_THROWS_AS(graph.run(), LimitError);
}

}  // namespace tyto::onnx_tests::recording_test
