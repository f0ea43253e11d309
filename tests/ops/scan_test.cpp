// SPDX-License-Identifier: MIT
// Scans: running sums, products and extremes, their gradients, and scan and fold with a user's function.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tests/support/weighted_gradient.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/statistics.hpp"
#include "tyto/vmap.hpp"

using namespace tyto;
using namespace tyto::testing;

TEST_CASE_TEMPLATE("a running sum goes along any axis, from either end, with or without the element itself", M, Eager,
                   Lazy) {
  const Tensor<M> x = Tensor<M>::from(Numbers{1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(cumsum(x, 0).template to_vector<double>() == Numbers{1, 2, 3, 5, 7, 9});
  CHECK(cumsum(x, -1).template to_vector<double>() == Numbers{1, 3, 6, 4, 9, 15});
  CHECK(cumsum(x, 1, {.reverse = true}).template to_vector<double>() == Numbers{6, 5, 3, 15, 11, 6});
  CHECK(cumsum(x, 1, {.exclusive = true}).template to_vector<double>() == Numbers{0, 1, 3, 0, 4, 9});
  CHECK(cumsum(x, 1, {.exclusive = true, .reverse = true}).template to_vector<double>() == Numbers{5, 3, 0, 11, 6, 0});
}

TEST_CASE_TEMPLATE("without an axis a running sum or product is that of the flattened tensor", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::from(Numbers{1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(cumsum(x).shape() == Shape{6});
  CHECK(cumsum(x).template to_vector<double>() == Numbers{1, 3, 6, 10, 15, 21});
  CHECK(x.cumsum().template to_vector<double>() == Numbers{1, 3, 6, 10, 15, 21});
  CHECK(cumsum(transpose(x)).template to_vector<double>() == Numbers{1, 5, 7, 12, 15, 21});
  CHECK(cumsum(x, {}, {.reverse = true}).template to_vector<double>() == Numbers{21, 20, 18, 15, 11, 6});
  CHECK(cumprod(x).template to_vector<double>() == Numbers{1, 2, 6, 24, 120, 720});
  CHECK(cumprod(x, std::nullopt, {.exclusive = true}).template to_vector<double>() == Numbers{1, 1, 2, 6, 24, 120});
  CHECK(nancumsum(x).template to_vector<double>() == Numbers{1, 3, 6, 10, 15, 21});
  CHECK(nancumprod(x).template to_vector<double>() == Numbers{1, 2, 6, 24, 120, 720});
  CHECK(cumsum(Tensor<M>(5)).template to_vector<double>() == Numbers{5});
  const Tensor<M> slope = grad([](const Tensor<M>& v) { return sum(cumsum(v)); })(x);
  CHECK(slope.shape() == Shape{2, 3});
  CHECK(slope.template to_vector<double>() == Numbers{6, 5, 4, 3, 2, 1});
  const Tensor<M> pairs = vmap([](const Tensor<M>& v) { return cumsum(v); })(reshape(x, {3, 2, 1}));
  CHECK(pairs.shape() == Shape{3, 2});
  CHECK(pairs.template to_vector<double>() == Numbers{1, 3, 3, 7, 5, 11});
}

TEST_CASE_TEMPLATE("running sums and products of truths and integers are i64", M, Eager, Lazy) {
  const Tensor<M> truths{true, false, true};
  CHECK(cumsum(truths, 0).template to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 1, 2});
  const Tensor<M> bytes = Tensor<M>{100, 100, 100}.astype(DType::i8);
  CHECK(cumprod(bytes, 0).template to_vector<std::int64_t>() == std::vector<std::int64_t>{100, 10000, 1000000});
}

TEST_CASE_TEMPLATE("running sums of lines of integers of any length are what adding one by one gives", M, Eager, Lazy) {
  for (const DType dtype : {DType::u8, DType::i32, DType::i64}) {
    for (const std::int64_t length : {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100}) {
      for (const bool exclusive : {false, true}) {
        CAPTURE(name_of(dtype));
        CAPTURE(length);
        CAPTURE(exclusive);
        const Tensor<M> x = remainder(Tensor<M>::arange(5 * length) * 37, 101).reshape({5, length}).astype(dtype);
        std::vector<std::int64_t> sums, least, products, greatest;
        for (std::int64_t row = 0; row < 5; ++row) {
          std::int64_t sum = 0, smallest = INT64_MAX, largest = INT64_MIN;
          std::uint64_t product = 1;  // which wraps round
          for (std::int64_t i = 0; i < length; ++i) {
            const std::int64_t value = (row * length + i) * 37 % 101;
            sums.push_back(exclusive ? sum : sum + value);
            sum += value;
            smallest = std::min(smallest, value);
            least.push_back(smallest);
            largest = std::max(largest, value);
            greatest.push_back(largest);
            const std::uint64_t next = product * static_cast<std::uint64_t>(value);
            products.push_back(static_cast<std::int64_t>(exclusive ? product : next));
            product = next;
          }
        }
        CHECK(cumsum(x, 1, {.exclusive = exclusive}).template to_vector<std::int64_t>() == sums);
        CHECK(cumprod(x, 1, {.exclusive = exclusive}).template to_vector<std::int64_t>() == products);
        if (exclusive) continue;
        CHECK(cummin(x, 1).template to_vector<std::int64_t>() == least);
        CHECK(cummax(x, 1).template to_vector<std::int64_t>() == greatest);
      }
    }
  }
}

TEST_CASE_TEMPLATE("running extremes keep a NaN once they met it", M, Eager, Lazy) {
  const Tensor<M> x = vector_of<M>({3, 1, 2, std::nan(""), 0});
  const Numbers low = cummin(x, 0).template to_vector<double>();
  CHECK(Numbers(low.begin(), low.begin() + 3) == Numbers{3, 1, 1});
  CHECK(std::isnan(low[3]));
  CHECK(std::isnan(low[4]));
  CHECK(cummax(vector_of<M>({1, 3, 2, 5, 4}), 0, true).template to_vector<double>() == Numbers{5, 5, 5, 5, 4});
}

TEST_CASE_TEMPLATE("the gradient of a running sum is a running sum the other way", M, Eager, Lazy) {
  const Tensor<M> x = vector_of<M>({5, 7, 9});
  CHECK(weighted_gradient(x, [](auto& v) { return cumsum(v, 0); }) == Numbers{6, 5, 3});
  CHECK(weighted_gradient(x, [](auto& v) { return cumsum(v, 0, {.exclusive = true}); }) == Numbers{5, 3, 0});
  CHECK(weighted_gradient(x, [](auto& v) { return cumsum(v, 0, {.reverse = true}); }) == Numbers{1, 3, 6});
}

TEST_CASE_TEMPLATE("the gradient of a running product is right with one zero and with several", M, Eager, Lazy) {
  // y = a, ab, abc, abcd weighted by 1, 2, 3, 4.
  const auto product = [](auto& v) { return cumprod(v, 0); };
  CHECK(weighted_gradient(vector_of<M>({2, 3, 5, 7}), product) ==
        Numbers{1 + 6 + 45 + 420, 4 + 30 + 280, 18 + 168, 120});
  CHECK(weighted_gradient(vector_of<M>({2, 0, 5, 7}), product) == Numbers{1, 4 + 30 + 280, 0, 0});
  CHECK(weighted_gradient(vector_of<M>({2, 0, 5, 0}), product) == Numbers{1, 4 + 30, 0, 0});
  // y = bcd, cd, d, 1 for the exclusive product from the end.
  const auto others = [](auto& v) { return cumprod(v, 0, {.exclusive = true, .reverse = true}); };
  CHECK(weighted_gradient(vector_of<M>({2, 3, 5, 7}), others) == Numbers{0, 35, 21 + 14, 15 + 10 + 3});
}

TEST_CASE_TEMPLATE("the second derivative of a running product is right where both factors are zero", M, Eager, Lazy) {
  const Tensor<M> second = hessian([](const Tensor<M>& v) { return sum(cumprod(v, 0)); })(vector_of<M>({0, 0, 3}));
  // a + ab + abc: d2/dadb = 1 + c = 4, d2/dadc = b = 0, d2/dbdc = a = 0.
  CHECK(second.template to_vector<double>() == Numbers{0, 4, 0, 4, 0, 0, 0, 0, 0});
}

TEST_CASE_TEMPLATE("the gradient of a running extreme goes to the place that gave it, the last of equals", M, Eager,
                   Lazy) {
  const auto largest = [](auto& v) { return cummax(v, 0); };
  CHECK(weighted_gradient(vector_of<M>({2, 1, 3, 0, 3}), largest) == Numbers{1 + 2, 0, 3 + 4, 0, 5});
  const auto smallest_from_end = [](auto& v) { return cummin(v, 0, true); };
  CHECK(weighted_gradient(vector_of<M>({2, 1, 3, 1, 4}), smallest_from_end) == Numbers{0, 1 + 2, 0, 3 + 4, 5});
}

TEST_CASE_TEMPLATE("the gradient of a running extreme goes to the NaN that it has been since", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{1.0, std::nan(""), 3.0, 2.0}, weights{1.0, 10.0, 100.0, 1000.0};
  const auto gradients = [&](const auto& f) {
    return grad([&](const T& v) { return sum(f(v) * weights); })(x).template to_vector<double>();
  };
  CHECK(gradients([](const T& v) { return cummax(v, 0); }) == Numbers{1, 1110, 0, 0});
  CHECK(gradients([](const T& v) { return cummin(v, 0); }) == Numbers{1, 1110, 0, 0});
  CHECK(gradients([](const T& v) { return cummax(v, 0, true); }) == Numbers{0, 11, 100, 1000});
}

TEST_CASE_TEMPLATE("scan and fold run a user's function along an axis", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::from(Numbers{1, 2, 3, 4, 5, 6}, {2, 3});
  const auto mixed = [](const Tensor<M>& a, const Tensor<M>& b) { return 10.0 * a + b; };
  CHECK(scan(x, 1, mixed).template to_vector<double>() == Numbers{1, 12, 123, 4, 45, 456});
  CHECK(fold(x, -1, 0, mixed).template to_vector<double>() == Numbers{123, 456});
  CHECK(fold(x, 0, 1, mixed).template to_vector<double>() == Numbers{114, 125, 136});
  CHECK(scan(Tensor<M>::zeros({2, 0}), 1, mixed).shape() == Shape{2, 0});
  CHECK(grad([&](const Tensor<M>& v) { return sum(scan(v, 0, std::multiplies<>())); })(vector_of<M>({2, 3, 5}))
            .template to_vector<double>() == Numbers{1 + 3 + 15, 2 + 10, 6});
}

TEST_CASE("scan and fold record their function a few times, however long the axis is") {
  const Tensor<Lazy> x = Tensor<Lazy>::arange(40).astype(DType::f64);
  int calls = 0;
  const auto total = [&](const Tensor<Lazy>& a, const Tensor<Lazy>& b) {
    ++calls;
    return a + b;
  };
  CHECK(fold(x, 0, 0.5, total).item<double>() == 780.5);
  CHECK(scan(x, 0, total)(39).item<double>() == 780);
  CHECK(calls <= 6);
}

TEST_CASE_TEMPLATE("a fold may change the type of what it carries, and what grows is unrolled", M, Eager, Lazy) {
  const Tensor<M> x{1, 2, 3, 4};
  const Tensor<M> mean = fold(x, 0, 0, [](const Tensor<M>& a, const Tensor<M>& b) { return a * 0.5 + b; });
  CHECK(mean.dtype() == DType::f32);
  CHECK(mean.template item<double>() == 6.125);
  const Tensor<M> doubled = fold(x, 0, Tensor<M>::zeros({1}, DType::i64), [](const Tensor<M>& a, const Tensor<M>& b) {
    return concat({a, a + b});
  });
  CHECK(doubled.shape() == Shape{16});
  CHECK(doubled.template to_vector<std::int64_t>().back() == 10);
}

TEST_CASE_TEMPLATE("a scan that cannot be says why", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::zeros({2, 3});
  CHECK_THROWS_WITH_AS(cumsum(x, 2), "cumsum: axis 2 is outside [-2, 1] for a tensor of rank 2", IndexError);
  CHECK_THROWS_WITH_AS(cummax(Tensor<M>::full({}, 1.0), 0), "cummax: axis 0 given, but a 0-d tensor has no axes",
                       IndexError);
  CHECK_THROWS_WITH_AS(scan(x, 0, [](const Tensor<M>& a, const Tensor<M>&) { return sum(a); }),
                       "scan: the function gave shape () along axis 0; each result must have the elements' shape (3,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(fold(x, 0, 0, nullptr), "fold: the function is empty", ValueError);
}
