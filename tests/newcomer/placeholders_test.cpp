// SPDX-License-Identifier: MIT
// Compiled functions and models from ONNX files that are called on placeholders: parts of an explicit graph.
#include <doctest/doctest.h>

#include <tyto/nn.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {
using T = Tensor<Lazy>;
}  // namespace

TEST_CASE("a compiled function called on a placeholder is part of the graph that is made of it") {
  const T w = T::variable(T{1.0, 2.0}, "w");
  auto weighted = compile([&](T x, T factor) { return std::pair(sum(x * w) * factor, x + 1.0); });
  const T x = T::placeholder({2}, DType::f32, "x");
  const auto [total, next] = weighted(x * 2.0, 3.0);
  Graph graph{{.inputs = {x}, .outputs = {total, next}}};
  graph.set(x, {5.0, 7.0});
  graph.run();
  CHECK(numbers(graph.output(0)) == Numbers{114});
  CHECK(numbers(graph.output(1)) == Numbers{11, 15});
  assign(w, T{0.0, 1.0});  // a graph reads states anew
  graph.run();
  CHECK(numbers(graph.output(0)) == Numbers{42});
  // With values it runs as before, and a placeholder that has one is read.
  CHECK(numbers(weighted(T{1.0, 1.0}, 1.0).first) == Numbers{1});
  assign(x, {3.0, 4.0});
  CHECK(numbers(weighted(x, 1.0).first) == Numbers{4});
}

TEST_CASE("a model from a file, called on a placeholder, is written again with another head") {
  const tyto::testing::TemporaryFolder folder;
  const std::string body = folder / "body.onnx", tuned = folder / "tuned.onnx";
  const T in = T::placeholder({4, 2}, DType::f32, "x");
  write_onnx(body, Graph{{.inputs = {in}, .outputs = {square(in)}}}, {.outputs = {"features"}});
  OnnxModel<T> model = read_onnx<T>(body);
  const nn::Linear head({.in = 2, .out = 1, .initial = nn::constant_weights(3)});
  const T x = T::placeholder({4, 2}, DType::f32, "x");
  write_onnx(tuned, Graph{{.inputs = {x}, .outputs = {head(model({{"x", x}})["features"])}}}, {.outputs = {"scores"}});
  const Tensor<Eager> given{{1.0, 2.0}, {3.0, 4.0}, {0.0, 1.0}, {-1.0, 0.0}};
  CHECK(numbers(read_onnx(tuned)({{"x", given}})["scores"]) == Numbers{15, 75, 3, 3});
}
