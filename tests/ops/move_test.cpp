// SPDX-License-Identifier: MIT
// Joining, splitting, repeating, rolling, padding and triangles, with gradients and messages.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/device/device.hpp"
#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "engine/run/devices.hpp"
#include "tests/support/weighted_gradient.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/graph.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/resampling.hpp"
#include "tyto/shaping.hpp"

using namespace tyto;
using namespace tyto::testing;

TEST_CASE_TEMPLATE("concat joins along an axis in the common type, stack along a new one", M, Eager, Lazy) {
  const Tensor<M> a = counted<M>({2, 1}), b = 10.0 * counted<M>({2, 2});
  CHECK(numbers(concat<M>({a, b}, 1)) == Numbers{1, 10, 20, 2, 30, 40});
  CHECK(concat<M>({Tensor<M>{1, 2}, Tensor<M>{0.5}}).dtype() == DType::f32);
  CHECK(numbers(stack<M>({counted<M>({2}), counted<M>({2}) * 3.0}, -1)) == Numbers{1, 3, 2, 6});
  CHECK(stack<M>({1.5, 2.5}).template to_vector<float>() == std::vector<float>{1.5f, 2.5f});
  CHECK(weighted_gradient(a, [&](auto& v) { return concat<M>({b, v, v}, 1); }) == Numbers{3 + 4, 7 + 8});
}

TEST_CASE("parts that lie between each other come to their places, whatever their number, width and type") {
  using T = Tensor<Eager>;
  for (const DType type : {DType::boolean, DType::u8, DType::i16, DType::f32, DType::f64, DType::c128}) {
    CAPTURE(name_of(type));
    for (const std::int64_t rows : {1, 5, 300, 70001}) {
      for (const std::int64_t parts : {2, 3, 4, 5}) {
        CAPTURE(rows);
        CAPTURE(parts);
        // Where it lies tells what an element is.
        const T whole = (T::arange(rows * parts) % 251).astype(type).reshape({rows, parts});
        std::vector<T> columns, wide;
        for (std::int64_t i = 0; i < parts; ++i) columns.push_back(copy(whole(all, i)));
        CHECK(array_equal(stack(columns, -1), whole));
        CHECK(array_equal(stack(columns, -1).ravel(), whole.ravel()));
        // Every second one, and widths of one and more.
        std::vector<T> reversed;
        for (std::int64_t i = parts; i-- > 0;) reversed.push_back(flip(whole(all, i), 0));
        CHECK(array_equal(stack(reversed, -1), flip(whole)));
        for (std::int64_t i = 0; i < parts; i += 2) wide.push_back(copy(whole(all, slice(i, std::min(i + 2, parts)))));
        CHECK(array_equal(concat(wide, -1), whole));
      }
    }
  }
}

TEST_CASE_TEMPLATE("split cuts into equal parts or at positions", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({2, 4});
  const auto halves = split(x, 2, 1);
  REQUIRE(halves.size() == 2);
  CHECK(numbers(halves[1]) == Numbers{3, 4, 7, 8});
  const auto pieces = split(x, IntList{1, 1, -1}, -1);
  REQUIRE(pieces.size() == 4);
  CHECK(pieces[1].shape() == Shape{2, 0});
  CHECK(numbers(pieces[2]) == Numbers{2, 3, 6, 7});
  CHECK(numbers(pieces[3]) == Numbers{4, 8});
  CHECK(weighted_gradient(x, [](auto& v) { return split(v, 2, 1)[1]; }) == Numbers{0, 0, 1, 2, 0, 0, 3, 4});
}

TEST_CASE_TEMPLATE("tile repeats the whole, repeat each element", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({2});
  CHECK(numbers(tile(x, {2, 2})) == Numbers{1, 2, 1, 2, 1, 2, 1, 2});
  CHECK(tile(x, {2, 2}).shape() == Shape{2, 4});
  CHECK(tile(x, {0}).shape() == Shape{0});
  CHECK(numbers(repeat(x, 2)) == Numbers{1, 1, 2, 2});
  CHECK(numbers(repeat(counted<M>({2, 2}), 2, 0)) == Numbers{1, 2, 1, 2, 3, 4, 3, 4});
  CHECK(weighted_gradient(x, [](auto& v) { return tile(v, {2, 2}); }) == Numbers{1 + 3 + 5 + 7, 2 + 4 + 6 + 8});
  CHECK(weighted_gradient(x, [](auto& v) { return repeat(v, 3, 0); }) == Numbers{1 + 2 + 3, 4 + 5 + 6});
  CHECK(weighted_gradient(x, [](auto& v) { return repeat(v, 0); }) == Numbers{0, 0});
}

TEST_CASE_TEMPLATE("copies along axes of length 1 are stretched, not stored", M, Eager, Lazy) {
  const Tensor<M> row = counted<M>({1, 3});
  CHECK(numbers(tile(row, {2, 1})) == Numbers{1, 2, 3, 1, 2, 3});
  CHECK(numbers(tile(row, {2, 2})) == Numbers{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  CHECK(numbers(tile(counted<M>({3}), {2, 1, 1})) == Numbers{1, 2, 3, 1, 2, 3});
  CHECK(tile(counted<M>({3}), {2, 1, 1}).shape() == Shape{2, 1, 3});
  CHECK(numbers(repeat(row, 2, 0)) == Numbers{1, 2, 3, 1, 2, 3});
  CHECK(numbers(repeat(row, 2, 1)) == Numbers{1, 1, 2, 2, 3, 3});
  CHECK(tile(row, {0, 1}).shape() == Shape{0, 3});
  CHECK(repeat(row, 0, 0).shape() == Shape{0, 3});
  CHECK(repeat(Tensor<M>::ones({1, 0}), 4, 0).shape() == Shape{4, 0});
  CHECK(numbers(tile(Tensor<M>(7.0F), {3})) == Numbers{7, 7, 7});
  CHECK(weighted_gradient(row, [](auto& v) { return tile(v, {2, 1}); }) == Numbers{1 + 4, 2 + 5, 3 + 6});
  CHECK(weighted_gradient(row, [](auto& v) { return repeat(v, 2, 0); }) == Numbers{1 + 4, 2 + 5, 3 + 6});
  // Each as large as a row of 1,000: what is added to 1,000 rows is that row.
  const Tensor<M> wide = Tensor<M>::ones({1, 1000});
  (void)wide.template data<float>();
  const std::size_t before = run::cpu_device().allocated();
  const Tensor<M> tiled = tile(wide, {1000, 1}), repeated = repeat(wide, 1000, 0);
  CHECK(sum(tiled + repeated).template item<float>() == 2'000'000);
  if constexpr (std::is_same_v<M, Lazy>) {
    auto f = compile([](Tensor<M> x) { return sum(exp(tile(x, {1000, 1})) + repeat(x, 1000, 0)); });
    (void)f(wide);
    CHECK(f.plan().height < 100'000);
  } else {
    CHECK(run::cpu_device().allocated() < before + 3'000'000);
  }
}

TEST_CASE_TEMPLATE("roll shifts round, flattened or along axes, and back for the gradient", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({2, 3});
  CHECK(numbers(roll(x, {1})) == Numbers{6, 1, 2, 3, 4, 5});
  CHECK(numbers(roll(x, {1, -1}, {0, 1})) == Numbers{5, 6, 4, 2, 3, 1});
  CHECK(numbers(roll(x, {7}, {-1})) == Numbers{3, 1, 2, 6, 4, 5});
  CHECK(numbers(roll(x, {1}, {1, 1})) == Numbers{2, 3, 1, 5, 6, 4});
  CHECK(weighted_gradient(x, [](auto& v) { return roll(v, {1}); }) == Numbers{2, 3, 4, 5, 6, 1});
}

TEST_CASE_TEMPLATE("pad fills with a constant, the edge, or reflections however far", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({3});
  CHECK(numbers(pad(x, {1}, {2}, PaddingMode::constant, 7)) == Numbers{7, 1, 2, 3, 7, 7});
  CHECK(numbers(pad(x, {1}, {2}, PaddingMode::edge)) == Numbers{1, 1, 2, 3, 3, 3});
  CHECK(numbers(pad(x, {1}, {5}, PaddingMode::reflect)) == Numbers{2, 1, 2, 3, 2, 1, 2, 3, 2});
  CHECK(numbers(pad(counted<M>({1}), {2}, {1}, PaddingMode::reflect)) == Numbers{1, 1, 1, 1});
  CHECK(numbers(pad(counted<M>({1, 2}), {1, 0}, {0, 1}, PaddingMode::edge)) == Numbers{1, 2, 2, 1, 2, 2});
  CHECK(weighted_gradient(x, [](auto& v) { return pad(v, {1}, {2}); }) == Numbers{2, 3, 4});
  CHECK(weighted_gradient(x, [](auto& v) { return pad(v, {1}, {2}, PaddingMode::edge); }) ==
        Numbers{1 + 2, 3, 4 + 5 + 6});
  CHECK(weighted_gradient(x, [](auto& v) { return pad(v, {1}, {5}, PaddingMode::reflect); }) ==
        Numbers{2 + 6, 1 + 3 + 5 + 7 + 9, 4 + 8});
  CHECK(weighted_gradient(counted<M>({2, 2}), [](auto& v) {
          return pad(v, {0, 1}, {1, 0}, PaddingMode::edge);
        }) == Numbers{1 + 2, 3, 4 + 5 + 7 + 8, 6 + 9});
}

TEST_CASE_TEMPLATE("diag makes a matrix of a vector and takes the vector out of a matrix", M, Eager, Lazy) {
  CHECK(numbers(diag(counted<M>({2}), 1)) == Numbers{0, 1, 0, 0, 0, 2, 0, 0, 0});
  CHECK(numbers(diag(counted<M>({2, 3}), -1)) == Numbers{4});
  CHECK(weighted_gradient(counted<M>({2}), [](auto& v) { return diag(v, -1); }) == Numbers{4, 8});
  CHECK(weighted_gradient(counted<M>({2, 3}), [](auto& v) { return diag(v, 1); }) == Numbers{0, 1, 0, 0, 0, 2});
}

TEST_CASE_TEMPLATE("tril and triu keep the triangles of stacked matrices, for any diagonal", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({2, 3});
  CHECK(numbers(tril(x)) == Numbers{1, 0, 0, 4, 5, 0});
  CHECK(numbers(triu(x, 1)) == Numbers{0, 2, 3, 0, 0, 6});
  CHECK(numbers(tril(x, INT64_MAX)) == numbers(x));
  CHECK(numbers(triu(x, INT64_MAX)) == Numbers(6, 0));
  CHECK(numbers(tril(x, INT64_MIN)) == Numbers(6, 0));
  CHECK(weighted_gradient(x, [](auto& v) { return triu(v); }) == Numbers{1, 2, 3, 0, 5, 6});
}

TEST_CASE_TEMPLATE("set_slice passes no gradient to the elements that it replaces", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({4}), v = counted<M>({2});
  const auto replaced = [](const Tensor<M>& a, const Tensor<M>& b) { return set(a, {slice(0, 4, 2)}, b); };
  CHECK(numbers(replaced(x, -v)) == Numbers{-1, 2, -2, 4});
  CHECK(weighted_gradient(x, [&](auto& a) { return replaced(a, v); }) == Numbers{0, 2, 0, 4});
  CHECK(weighted_gradient(v, [&](auto& b) { return replaced(x, b); }) == Numbers{1, 3});
}

TEST_CASE_TEMPLATE("meshgrid spans coordinates in matrix order", M, Eager, Lazy) {
  const auto grid = meshgrid<M>({counted<M>({2}), counted<M>({3})});
  REQUIRE(grid.size() == 2);
  CHECK(numbers(grid[0]) == Numbers{1, 1, 1, 2, 2, 2});
  CHECK(numbers(grid[1]) == Numbers{1, 2, 3, 1, 2, 3});
}

TEST_CASE_TEMPLATE("pictures are resized by whole steps, which read views, as by others", M, Eager, Lazy) {
  const ResizeOptions linear{.method = Interpolation::linear}, nearest{.method = Interpolation::nearest};
  const Tensor<M> x = counted<M>({1, 4, 4, 1});
  CHECK(numbers(resize(x, {2, 2}, linear)) == Numbers{3.5, 5.5, 11.5, 13.5});
  CHECK(weighted_gradient(x, [&](auto& v) {
          return resize(v, {2, 2}, linear);
        }) == Numbers{0.25, 0.25, 0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1, 1, 0.75, 0.75, 1, 1});
  CHECK(numbers(resize(x, {2, 8}, linear)) ==
        Numbers{3, 3.25, 3.75, 4.25, 4.75, 5.25, 5.75, 6, 11, 11.25, 11.75, 12.25, 12.75, 13.25, 13.75, 14});
  CHECK(numbers(resize(counted<M>({1, 3, 6, 1}), {1, 2}, nearest)) == Numbers{8, 11});
  CHECK(numbers(resize(counted<M>({1, 2, 2, 2}), {1, 2}, nearest)) == numbers(counted<M>({1, 2, 2, 2})(0, 0)));
}

TEST_CASE_TEMPLATE("errors of joins, cuts, pads and diagonals state what does not fit", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::zeros({2, 3}), y = Tensor<M>::zeros({3, 2});
  CHECK_THROWS_WITH_AS(concat<M>({}), "concat: no parts are given", ValueError);
  CHECK_THROWS_WITH_AS(concat<M>({x, Tensor<M>()}), doctest::Contains("concat: an operand is an undefined tensor"),
                       GraphError);
  CHECK_THROWS_WITH_AS(concat<M>({x, y}, 1), "concat: parts of shapes (2,3) and (3,2) must agree but for axis 1",
                       ShapeError);
  const Tensor<M> whole = Tensor<M>::zeros({2, 3}, DType::i32);  // which concat itself would bring to f32
  CHECK_THROWS_WITH_AS(core::emit(core::OpId::concat, core::AxisAttributes{0}, {x, x, whole}),
                       "concat: parts of types f32 and i32", TypeError);
  CHECK_THROWS_WITH_AS(stack<M>({x, y}), "stack: parts of shapes (2,3) and (3,2) must have one shape", ShapeError);
  CHECK_THROWS_WITH_AS(stack<M>({x}, 3), "stack: axis 3 is outside [-3, 2] for a tensor of rank 3", IndexError);
  CHECK_THROWS_WITH_AS(split(x, 2, 1),
                       "split: axis 1 of length 3 does not divide into 2 equal parts; name the positions instead",
                       ShapeError);
  CHECK_THROWS_WITH_AS(split(x, 0), "split: 0 parts are asked for; at least one is needed", ValueError);
  CHECK_THROWS_WITH_AS(tile(x, {1, -2}), "tile: counts (1,-2) hold a negative one", ValueError);
  CHECK_THROWS_WITH_AS(repeat(x, -1), "repeat: count -1 is negative", ValueError);
  CHECK_THROWS_WITH_AS(roll(x, {1, 2}), "roll: shifts (1,2) need as many axes, none are given", ValueError);
  CHECK_THROWS_WITH_AS(roll(x, {1, 2, 3}, {0, 1}), "roll: 3 shifts (1,2,3) for 2 axes (0,1)", ValueError);
  CHECK_THROWS_WITH_AS(pad(x, {1}, {1, 1}), "pad: 1 widths (1,) for the 2 axes of shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(pad(x, {1, 0}, {0, -1}), "pad: widths 0 and -1 of axis 1 must not be negative", ValueError);
  CHECK_THROWS_WITH_AS(pad(Tensor<M>::zeros({0}), {1}, {0}, PaddingMode::edge),
                       "pad: axis 0 of shape (0,) is empty, so there is nothing to repeat; only a constant can fill it",
                       ShapeError);
  CHECK_THROWS_WITH_AS(diag(Tensor<M>::zeros({1, 1, 1})), "diag: a vector or a matrix is needed, not shape (1,1,1)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(tril(Tensor<M>::zeros({3})), "tril/triu: a triangle needs rank 2 or more, not shape (3,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(meshgrid<M>({x}), "meshgrid: axes must be vectors, not of shape (2,3)", ShapeError);
}
