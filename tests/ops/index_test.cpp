// SPDX-License-Identifier: MIT
// Picking and placing by index tensors, with gradients and messages.
#include <doctest/doctest.h>

#include <limits>

#include "core/value/text.hpp"
#include "tests/support/weighted_gradient.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/choosing.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/graph.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

using namespace tyto;
using namespace tyto::testing;

TEST_CASE_TEMPLATE("take puts the indices' axes where the axis was", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({2, 3});
  const Tensor<M> rows{1, -2, 1}, square{{0, 2}, {2, 2}};
  CHECK(numbers(take(x, rows, 0)) == Numbers{4, 5, 6, 1, 2, 3, 4, 5, 6});
  CHECK(take(x, square, -1).shape() == Shape{2, 2, 2});
  CHECK(numbers(take(x, square, 1)) == Numbers{1, 3, 3, 3, 4, 6, 6, 6});
  CHECK(numbers(take(x, 4)) == Numbers{5});
  CHECK(take(x, 4).shape() == Shape{});
  CHECK(numbers(take(x, rows.astype(DType::i8), 0)) == numbers(take(x, rows, 0)));
  CHECK(weighted_gradient(x, [&](auto& v) { return take(v, rows, 0); }) == Numbers{4, 5, 6, 1 + 7, 2 + 8, 3 + 9});
  CHECK(weighted_gradient(x, [&](auto& v) { return take(v, square, 1); }) == Numbers{1, 0, 2 + 3 + 4, 5, 0, 6 + 7 + 8});
}

TEST_CASE_TEMPLATE("take_along_axis reads one element an index and stretches the other axes", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({2, 3});
  const Tensor<M> each{{2, 0}, {-1, -1}}, shared{{1, 0}};
  CHECK(numbers(take_along_axis(x, each, 1)) == Numbers{3, 1, 6, 6});
  CHECK(numbers(take_along_axis(x, shared, 1)) == Numbers{2, 1, 5, 4});
  CHECK(weighted_gradient(x, [&](auto& v) { return take_along_axis(v, each, 1); }) == Numbers{2, 0, 1, 0, 0, 3 + 4});
  const Tensor<M> row = counted<M>({1, 3});
  CHECK(weighted_gradient(row, [&](auto& v) { return take_along_axis(v, each, 1); }) == Numbers{2, 0, 1 + 3 + 4});
}

TEST_CASE_TEMPLATE("gather reads at coordinates that broadcast together", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({2, 3});
  const Tensor<M> rows{{0}, {1}}, columns{2, 0};
  CHECK(numbers(gather<M>(x, {rows, columns})) == Numbers{3, 1, 6, 4});
  CHECK(numbers(gather<M>(x, {columns - 1})) == Numbers{4, 5, 6, 4, 5, 6});
  CHECK(weighted_gradient(x, [&](auto& v) { return gather<M>(v, {rows, columns}); }) == Numbers{2, 0, 1, 4, 0, 3});
}

TEST_CASE_TEMPLATE("scatter keeps the last of repeated places, scatter_add adds them up", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({4}), places{3, 0, 3}, v = 10.0 * counted<M>({3});
  CHECK(numbers(scatter<M>(x, {places}, v)) == Numbers{20, 2, 3, 30});
  CHECK(numbers(scatter_add<M>(x, {places}, v)) == Numbers{21, 2, 3, 44});
  CHECK(numbers(scatter<M>(x, {places}, 9)) == Numbers{9, 2, 3, 9});
  CHECK(scatter<M>(Tensor<M>{1, 2}, {Tensor<M>{0}}, 7.9).template to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{7, 2});
}

TEST_CASE_TEMPLATE("extremes that are scattered are NaN where either is", M, Eager, Lazy) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Tensor<M> x{none, 1.0, 2.0, 3.0}, places{0, 1, 2, 3, 3}, v{5.0, none, 1.0, 4.0, none};
  const auto is_none = [](const Tensor<M>& found) { return isnan(found).template to_vector<bool>(); };
  const Tensor<M> most = scatter_max<M>(x, {places}, v), least = scatter_min<M>(x, {places}, v);
  CHECK(is_none(most) == std::vector<bool>{true, true, false, true});
  CHECK(is_none(least) == std::vector<bool>{true, true, false, true});
  CHECK(most(2).template item<double>() == 2);
  CHECK(least(2).template item<double>() == 1);
}

TEST_CASE_TEMPLATE("only values that stayed in a scatter have a gradient", M, Eager, Lazy) {
  const Tensor<M> x = counted<M>({4}), places{3, 0, 3}, v = counted<M>({3});
  CHECK(weighted_gradient(x, [&](auto& a) { return scatter<M>(a, {places}, v); }) == Numbers{0, 2, 3, 0});
  CHECK(weighted_gradient(v, [&](auto& b) { return scatter<M>(x, {places}, b); }) == Numbers{0, 1, 4});
  const Tensor<M> matrix = counted<M>({2, 2}), rows = counted<M>({2, 2});
  CHECK(weighted_gradient(rows, [&](auto& b) {
          return scatter<M>(matrix, {Tensor<M>{1, -1}}, b);
        }) == Numbers{0, 0, 3, 4});
  CHECK(weighted_gradient(x, [&](auto& a) { return scatter_add<M>(a, {places}, v); }) == Numbers{1, 2, 3, 4});
  CHECK(weighted_gradient(v, [&](auto& b) { return scatter_add<M>(x, {places}, b); }) == Numbers{4, 1, 4});
}

TEST_CASE_TEMPLATE("invalid indices throw when the line is written", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::zeros({2, 3}), zero{0};
  CHECK_THROWS_WITH_AS(take(x, Tensor<M>{0.5}, 0), "take: indices must be integers, not f32", TypeError);
  CHECK_THROWS_WITH_AS(take(Tensor<M>::zeros({0, 3}), zero, 0),
                       "take: axis 0 of shape (0,3) is empty, so no index fits it", IndexError);
  CHECK_THROWS_WITH_AS(take_along_axis(x, zero, 0),
                       "take_along_axis: indices of shape (1,) must have as many axes as the tensor of shape (2,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(gather<M>(x, {}), "gather: no index tensors are given", ValueError);
  CHECK_THROWS_WITH_AS(gather<M>(x, {zero, zero, zero}), "gather: 3 index tensors for a tensor of rank 2, shape (2,3)",
                       IndexError);
  CHECK_THROWS_WITH_AS(gather<M>(x, {Tensor<M>{0, 1}, Tensor<M>{0, 1, 1}}),
                       "gather: shapes (2,) and (3,) do not broadcast: axis lengths 2 and 3 differ and neither is 1",
                       ShapeError);
  CHECK_THROWS_WITH_AS(scatter<M>(x, {zero}, Tensor<M>::zeros({2})),
                       "scatter: values of shape (2,) do not broadcast to the places' shape (1,3)", ShapeError);
  CHECK_THROWS_WITH_AS(scatter_add<M>(Tensor<M>{1, 2}, {zero}, 0.5),
                       "scatter_add: values of f32 do not add up in a tensor of i64; cast one of them", TypeError);
}

TEST_CASE_TEMPLATE("an index out of bounds is found when it is read", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::zeros({2, 3});
  CHECK_THROWS_AS(numbers(take(x.astype(DType::f64), Tensor<M>{2}, 0)), IndexError);
  CHECK_THROWS_AS(numbers(scatter<M>(x.astype(DType::f64), {Tensor<M>{-3}}, 1.0)), IndexError);
}

TEST_CASE_TEMPLATE("an index out of bounds keeps its words in compiled functions and along every axis", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const T x = counted<M>({2, 3, 2});
  const auto told = [&](const auto& function, const T& indices) -> std::string {
    try {
      numbers(compile(function)(x, indices));
    } catch (const IndexError& error) {
      return error.what();
    }
    return "";
  };
  for (const DType type : {DType::i32, DType::i64, DType::u8}) {
    for (const std::int64_t axis : {0, 1, 2}) {
      const std::string length = std::to_string(x.shape()[static_cast<std::size_t>(axis)]);
      const std::string bounds =
          "[-" + length + ", " + std::to_string(x.shape()[static_cast<std::size_t>(axis)] - 1) + "]";
      const T along = (T::zeros({2, 3, 2}) + 5).astype(type), line = T{0, 5}.astype(type);
      const std::string outside = ": index 5 is outside an axis of length " + length + "; it must lie in " + bounds;
      CHECK(told([axis](const T& a, const T& i) { return take_along_axis(a, i, axis); }, along) ==
            "take_along_axis" + outside);
      CHECK(told([axis](const T& a, const T& i) { return take(a, i, axis); }, line) == "take" + outside);
      CHECK(told([axis](const T& a, const T& i) { return put_along_axis(a, i, 0.0, axis); }, along) ==
            core::text("put_along_axis: index 5 is out of range; the places along axis ", axis, " are -", length,
                       " to ", x.shape()[static_cast<std::size_t>(axis)] - 1));
    }
    CHECK(told([](const T& a, const T& i) { return scatter_add<M>(a, {i}, 1.0); }, T{1, 0, 2}.astype(type)) ==
          "scatter_add: index 2 is outside an axis of length 2; it must lie in [-2, 1]");
  }
}

TEST_CASE_TEMPLATE("a tensor that an index out of bounds was to change stays as it was", M, Eager, Lazy) {
  Tensor<M> x = counted<M>({3});
  CHECK_THROWS_AS((x(Tensor<M>{0, 3}) = Tensor<M>{8.0, 9.0}, numbers(x)), IndexError);
  if (std::is_same_v<M, Eager>) CHECK(numbers(x) == Numbers{1, 2, 3});
}

TEST_CASE("a state that is assigned what an index out of bounds was to give stays as it was") {
  using T = Tensor<Lazy>;
  const T values{7.0, 8.0, 9.0, 5.0};
  const auto check = [](const char* what, auto next) {
    CAPTURE(std::string(what));
    const T state = T::variable(T{1.0, 2.0, 3.0, 4.0});
    auto step = compile([&](T at) {
      assign(state, next(state, at));
      return sum(at);
    });
    (void)numbers(step(T{0, 1, 2, 3}));
    const Numbers before = numbers(state);
    CHECK_THROWS_AS((void)numbers(step(T{0, 1, 2, 9})), IndexError);
    CHECK(numbers(state) == before);
  };
  check("scatter", [&](T s, T at) { return scatter(T::zeros({4}) * s, {at}, values); });
  check("scatter_add", [&](T s, T at) { return scatter_add(s + 1.0, {at}, values); });
  check("scatter_add in place", [&](T s, T at) { return scatter_add(s, {at}, values); });
  check("take", [](T s, T at) { return take(s + 1.0, at, 0); });
  check("take_along_axis", [](T s, T at) { return take_along_axis(s + 1.0, at, 0); });
}

TEST_CASE_TEMPLATE("positions and coordinates outside of a shape are refused", M, Eager, Lazy) {
  using T = Tensor<M>;
  CHECK_THROWS_WITH_AS(unravel_index(T{6}, {2, 3})[0].to_string(),
                       "unravel_index: position 6 is out of range; the places of shape (2,3) are 0 to 5", IndexError);
  CHECK_THROWS_WITH_AS(unravel_index(T{0, -1}, {2, 3})[1].to_string(),
                       "unravel_index: position -1 is out of range; the places of shape (2,3) are 0 to 5", IndexError);
  CHECK_THROWS_WITH_AS(
      ravel_multi_index<M>({T(2), T(0)}, {2, 3}).to_string(),
      "ravel_multi_index: coordinate 2 is out of range; the places along axis 0 of shape (2,3) are 0 to 1", IndexError);
  CHECK(ravel_multi_index<M>({T(1), T(2)}, {2, 3}).template item<std::int64_t>() == 5);
}

TEST_CASE_TEMPLATE("second derivatives of scatter_multiply are products of the other factors, zeros among them or not",
                   Mode, Eager, Lazy) {
  using T = tyto::Tensor<Mode>;
  using Factors = std::vector<double>;
  // Former elements at three positions, and values for positions 0, 2, 0, 0, 1, 2, 0.
  const Factors cases[] = {{2, 5, 3, 0, 2, 3, 4, 0.5, -1, 7},  {2, 5, 3, 0, 2, 0, 4, 0, -1, 7},
                           {0, 0, 0, 2, 3, 4, 5, 6, 7, 8},     {0, 5, 3, 1, 0, 0, 0, 0, 0, 2},
                           {1, 1, 1, 0, 0, 0, 0, 0, 0, 0},     {0, 1, 2, 0, 3, 2, 1, 4, 0, 3},
                           {-0.5, 2, 0, 1, 0, -2, 3, 0, 5, -1}};
  const std::vector<std::int64_t> where_to = {0, 2, 0, 0, 1, 2, 0};
  const Factors weights = {2, -3, 0.5};
  std::vector<std::size_t> place = {0, 1, 2};
  for (const std::int64_t at : where_to) place.push_back(static_cast<std::size_t>(at));
  const T positions = T::from(where_to, {7}), scale = T::from(weights, {3});
  const auto f = [&](const T& all) {
    return sum(scale * scatter_multiply(T(all(tyto::slice(0, 3))), {positions}, T(all(tyto::slice(3, 10)))));
  };
  for (const Factors& factors : cases) {
    CAPTURE(factors);
    Factors gradients, curvatures;
    const auto product_without = [&](std::size_t i, std::size_t j) {
      double product = weights[place[i]];
      for (std::size_t k = 0; k < factors.size(); ++k)
        product *= k != i && k != j && place[k] == place[i] ? factors[k] : 1;
      return product;
    };
    for (std::size_t i = 0; i < factors.size(); ++i) {
      gradients.push_back(product_without(i, i));
      for (std::size_t j = 0; j < factors.size(); ++j) {
        curvatures.push_back(i == j || place[i] != place[j] ? 0 : product_without(i, j));
      }
    }
    const T x = T::from(factors, {10});
    CHECK(tyto::allclose(tyto::grad(f)(x), T::from(gradients, {10}), 1e-14, 0));
    CHECK(tyto::allclose(tyto::hessian(f)(x), T::from(curvatures, {10, 10}), 1e-13, 1e-13));
  }
}
