// SPDX-License-Identifier: MIT
// Calls on placeholders without a value: models from ONNX files become parts of an explicit graph, compiled functions
// refuse them.
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

TEST_CASE("a compiled function called on a placeholder is refused, and changes nothing") {
  const T w = T::variable(T{1.0, 2.0}, "w");
  auto weighted = compile([&](T x) {
    const T total = sum(x * w);
    assign(w, w + x);
    return total;
  });
  const T x = T::placeholder({2}, DType::f32, "x");
  CHECK_THROWS_WITH_AS(weighted(x), doctest::Contains("input 'x' of shape (2,) is read before a value was assigned"),
                       GraphError);
  CHECK(numbers(w) == Numbers{1, 2});
  CHECK(numbers(weighted(T{1.0, 1.0})) == Numbers{3});
  CHECK(numbers(w) == Numbers{2, 3});
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
