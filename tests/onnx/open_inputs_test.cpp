// SPDX-License-Identifier: MIT
// Graphs of models whose inputs are all open: axes, and numbers on which no shape depends, come with the data.
#include <doctest/doctest.h>
#include <tyto/device.hpp>
#include <tyto/tyto.hpp>

#include <algorithm>
#include <cmath>

#include "tests/onnx/model_text.hpp"

namespace tyto::onnx_tests::open_inputs_test {
namespace {

using L = Tensor<Lazy>;
using Floats = std::vector<float>;

/// y of one node as a graph, saved and loaded, with every input open.
class Saved {
 public:
  Saved(const Message& one, const std::vector<Message>& inputs, const NamedList<Shape>& shapes,
        std::int64_t version = 18)
      : graph_(Graph::from_bytes(
            read<L>(model({.nodes = {one}, .inputs = inputs, .outputs = {value("y", {"?"})}}, version))
                .graph(shapes)
                .to_bytes())) {}

  Floats operator()(const std::vector<L>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) graph_.set(graph_.inputs()[i], values[i]);
    graph_.run();
    return cast(graph_.output(0), DType::f32).to_vector<float>();
  }

 private:
  Graph graph_;
};

L integer(std::int64_t number) { return L::full({}, number, DType::i64); }

}  // namespace

TEST_CASE("sums and products along an axis that comes with the data are a graph") {
  const std::vector<Message> inputs{value("x", {"r", "c"}), value("a", {}, DType::i64)};
  Saved sums(node("CumSum", {"x", "a"}, {"y"}), inputs, {{"x", {2, 3}}, {"a", {}}});
  Saved before(node("CumSum", {"x", "a"}, {"y"},
                    {attribute("exclusive", std::int64_t{1}), attribute("reverse", std::int64_t{1})}),
               inputs, {{"x", {2, 3}}, {"a", {}}});
  Saved products(node("CumProd", {"x", "a"}, {"y"}), inputs, {{"x", {2, 3}}, {"a", {}}}, 26);
  const L x{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  for (const std::int64_t rows : {0, -2}) {
    CHECK(sums({x, integer(rows)}) == Floats{1, 2, 3, 5, 7, 9});
    CHECK(before({x, integer(rows)}) == Floats{4, 5, 6, 0, 0, 0});
    CHECK(products({x, integer(rows)}) == Floats{1, 2, 3, 4, 10, 18});
  }
  for (const std::int64_t columns : {1, -1}) {
    CHECK(sums({x, integer(columns)}) == Floats{1, 3, 6, 4, 9, 15});
    CHECK(before({x, integer(columns)}) == Floats{5, 3, 0, 11, 6, 0});
    CHECK(products({x, integer(columns)}) == Floats{1, 2, 6, 4, 20, 120});
  }
  Saved line(node("CumSum", {"x", "a"}, {"y"}), {value("x", {"n"}), value("a", {"1"}, DType::i64)},
             {{"x", {3}}, {"a", {1}}});
  CHECK(line({L{1.0, 2.0, 3.0}, L{0}}) == Floats{1, 3, 6});
}

TEST_CASE("an axis that comes with the data is one on the OpenCL device, too") {
  const std::vector<DeviceInfo> known = devices();
  if (std::none_of(known.begin(), known.end(), [](const DeviceInfo& each) { return each.name == "opencl:0"; })) return;
  const DeviceScope device("opencl");
  OnnxModel<L> f = read<L>(model({.nodes = {node("CumSum", {"x", "a"}, {"y"})},
                                  .inputs = {value("x", {"r", "c"}), value("a", {}, DType::i64)},
                                  .outputs = {value("y", {"r", "c"})}}));
  const L x{{1.0, 2.0}, {4.0, 5.0}};
  CHECK(f({{"x", x}, {"a", integer(-2)}})["y"].to_vector<float>() == Floats{1, 2, 5, 7});
  CHECK(f({{"x", x}, {"a", integer(1)}})["y"].to_vector<float>() == Floats{1, 3, 4, 9});
  CHECK(f.reports().size() == 1);  // one plan for each axis
}

TEST_CASE("axes of which there are as many as a tensor has, or as have length one, need not be known") {
  const std::vector<Message> inputs{value("x", {"a", "b", "c"}), value("axes", {"n"}, DType::i64)};
  const NamedList<Shape> shapes{{"x", {2, 1, 2}}, {"axes", {3}}};
  const L x = L::from(Floats{1, 2, 3, 4}, {2, 1, 2});
  Saved sum(node("ReduceSum", {"x", "axes"}, {"y"}, {attribute("keepdims", std::int64_t{0})}), inputs, shapes);
  CHECK(sum({x, L{2, 0, 1}}) == Floats{10});
  Saved largest(node("ReduceMax", {"x", "axes"}, {"y"}), inputs, shapes);
  CHECK(largest({x, L{-1, -2, -3}}) == Floats{4});
  Saved none(node("ReduceSum", {"x", "axes"}, {"y"}, {attribute("keepdims", std::int64_t{0})}), inputs,
             {{"x", {2, 1, 2}}, {"axes", {0}}});
  CHECK(none({x, L::zeros({0}, DType::i64)}) == Floats{10});
  Saved squeezed(node("Squeeze", {"x", "axes"}, {"y"}), inputs, {{"x", {2, 1, 2}}, {"axes", {1}}});
  CHECK(squeezed({x, L{1}}) == Floats{1, 2, 3, 4});
  CHECK_THROWS_AS(Saved(node("ReduceSum", {"x", "axes"}, {"y"}), inputs, {{"x", {2, 1, 2}}, {"axes", {1}}}),
                  GraphError);
}

TEST_CASE("diagonals, fills, whether to drop and the axis of a transform may come with the data") {
  const L x{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  for (const bool upper : {true, false}) {
    Saved triangle(node("Trilu", {"x", "k"}, {"y"}, {attribute("upper", std::int64_t{upper})}),
                   {value("x", {"r", "c"}), value("k", {}, DType::i64)}, {{"x", {2, 3}}, {"k", {}}});
    CHECK(triangle({x, integer(0)}) == (upper ? Floats{1, 2, 3, 0, 5, 6} : Floats{1, 0, 0, 4, 5, 0}));
    CHECK(triangle({x, integer(1)}) == (upper ? Floats{0, 2, 3, 0, 0, 6} : Floats{1, 2, 0, 4, 5, 6}));
    CHECK(triangle({x, integer(-9)}) == (upper ? Floats{1, 2, 3, 4, 5, 6} : Floats{0, 0, 0, 0, 0, 0}));
  }
  OnnxModel<L> padding = read<L>(model({.nodes = {node("Pad", {"x", "p", "v"}, {"y"})},
                                        .inputs = {value("x", {"n"}), value("v", {})},
                                        .outputs = {value("y", {"m"})},
                                        .initialisers = {raw_tensor<std::int64_t>("p", {2}, {1, -1})}},
                                       18));
  Graph padded = Graph::from_bytes(padding.graph({{"x", {3}}, {"v", {}}}).to_bytes());
  padded.set(padded.inputs()[0], L{1.0, INFINITY, 3.0});
  for (const float fill : {7.5F, -INFINITY}) {
    padded.set(padded.inputs()[1], L(fill));
    padded.run();
    CHECK(padded.output(0).to_vector<float>() == Floats{fill, 1, INFINITY});
  }
  OnnxModel<L> drops = read<L>(model({.nodes = {node("Dropout", {"x", "r", "t"}, {"y", "m"})},
                                      .inputs = {value("x", {"n"}), value("t", {}, DType::boolean)},
                                      .outputs = {value("y", {"n"}), value("m", {"n"}, DType::boolean)},
                                      .initialisers = {raw_tensor<float>("r", {}, {0.25F})}}));
  Graph dropped = drops.graph({{"x", {1000}}, {"t", {}}});
  dropped.set(dropped.inputs()[0], L::full({1000}, 3.0, DType::f32));
  dropped.set(dropped.inputs()[1], L(false));
  dropped.run();
  CHECK(dropped.output(0).to_vector<float>() == Floats(1000, 3));
  CHECK(sum(cast(dropped.output(1), DType::i64)).item<std::int64_t>() == 1000);
  dropped.set(dropped.inputs()[1], L(true));
  dropped.run();
  const auto kept = sum(cast(dropped.output(1), DType::i64)).item<std::int64_t>();
  CHECK(kept > 650);
  CHECK(kept < 850);
  CHECK(sum(dropped.output(0)).item<float>() == doctest::Approx(4.0 * static_cast<double>(kept)));

  // The transform of (1, 2) and of (1, 4) along axes 2 and 1 of (1, 2, 2, 1).
  Saved transform(node("DFT", {"x", "", "a"}, {"y"}), {value("x", {"b", "r", "c", "1"}), value("a", {}, DType::i64)},
                  {{"x", {1, 2, 2, 1}}, {"a", {}}}, 20);
  const L signal = L::from(Floats{1, 2, 4, 8}, {1, 2, 2, 1});
  const auto near = [](const Floats& got, const Floats& want) {
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - want[i]) < 1e-5F);
  };
  near(transform({signal, integer(2)}), {3, 0, -1, 0, 12, 0, -4, 0});
  near(transform({signal, integer(1)}), {5, 0, 10, 0, -3, 0, -6, 0});
}

}  // namespace tyto::onnx_tests::open_inputs_test
