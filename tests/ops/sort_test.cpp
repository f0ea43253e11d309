// SPDX-License-Identifier: MIT
// Sorting, the k first, searching, counting; and what only eager mode can do, distinct and non-zero elements.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/support/weighted_gradient.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/sets.hpp"
#include "tyto/shaping.hpp"

using namespace tyto;
using namespace tyto::testing;

namespace {

using Places = std::vector<std::int64_t>;

}  // namespace

TEST_CASE_TEMPLATE("sort is stable both ways and puts NaN last", M, Eager, Lazy) {
  const Tensor<M> x = vector_of<M>({2, 1, 2, std::nan(""), 0});
  CHECK(argsort(x).template to_vector<std::int64_t>() == Places{4, 1, 0, 2, 3});
  const Numbers sorted = sort(x).template to_vector<double>();
  CHECK(Numbers(sorted.begin(), sorted.end() - 1) == Numbers{0, 1, 2, 2});
  CHECK(std::isnan(sorted.back()));
  CHECK(argsort(vector_of<M>({2, 1, 2, 0}), 0, true).template to_vector<std::int64_t>() == Places{0, 2, 1, 3});
  CHECK(sort(Tensor<M>{{3, 1}, {2, 4}}, 0).template to_vector<std::int64_t>() == Places{2, 1, 3, 4});
}

TEST_CASE("columns are sorted and partitioned as each alone would be, however many lie side by side") {
  for (const DType type : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u64, DType::i16}) {
    for (const std::int64_t width : {1, 2, 15, 16, 17, 40}) {
      const std::int64_t length = 67, count = 3 * length * width;
      const Tensor<Eager> x = ((Tensor<Eager>::arange(count) * 7919) % 211).astype(type).reshape({3, length, width});
      const Tensor<Eager> sorted = sort(x, 1), places = argsort(x, 1), halves = partition(x, 30, 1);
      const Tensor<Eager> strided = sort(x.get({all, all, slice(0, width, 2)}), 1);
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t column = 0; column < width; ++column) {
          const auto numbers_in = [&](const Tensor<Eager>& from) {
            return from.get({i, all, column}).astype(DType::f64).to_vector<double>();
          };
          const Numbers given = numbers_in(x);
          Numbers expected = given;
          std::ranges::sort(expected);
          CHECK(numbers_in(sorted) == expected);
          if (column % 2 == 0)
            CHECK(strided.get({i, all, column / 2}).astype(DType::f64).to_vector<double>() == expected);
          Places order(given.size());
          std::iota(order.begin(), order.end(), 0);
          std::ranges::stable_sort(order, {}, [&](std::int64_t at) { return given[static_cast<std::size_t>(at)]; });
          CHECK(places.get({i, all, column}).to_vector<std::int64_t>() == order);
          const Numbers parted = numbers_in(halves);
          CHECK(parted[30] == expected[30]);
          CHECK(*std::max_element(parted.begin(), parted.begin() + 30) <= parted[30]);
          CHECK(*std::min_element(parted.begin() + 30, parted.end()) >= parted[30]);
          CHECK(std::is_permutation(parted.begin(), parted.end(), given.begin()));
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("zeros that are partitioned keep their signs", M, Eager, Lazy) {
  for (const std::int64_t length : {5, 67, 3000}) {
    // A quarter of the elements each: -1, -0, +0 and 1.
    Numbers given(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = std::array{1.0, -0.0, 0.0, -1.0}[i * 7919 % 4];
    const auto negative_zeros = [](const Numbers& among) {
      return std::ranges::count_if(among, [](double each) { return each == 0 && std::signbit(each); });
    };
    for (const DType type : {DType::f16, DType::f32, DType::f64}) {
      const Tensor<M> x = Tensor<M>::from(given, {length}).astype(type);
      for (const std::int64_t k : {std::int64_t{0}, length / 2, length - 1}) {
        CAPTURE(length);
        CAPTURE(k);
        const Numbers parted = partition(x, k).astype(DType::f64).template to_vector<double>();
        CHECK(std::ranges::is_permutation(parted, given));
        CHECK(negative_zeros(parted) == negative_zeros(given));
      }
    }
  }
}

TEST_CASE_TEMPLATE("topk gives values and places, best first", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::from(Numbers{5, 1, 4, 2, 6, 3}, {2, 3});
  const auto [values, places] = topk(x, 2);
  CHECK(values.template to_vector<double>() == Numbers{5, 4, 6, 3});
  CHECK(places.template to_vector<std::int64_t>() == Places{0, 2, 1, 2});
  CHECK(topk(x, 1, 0, false).values.template to_vector<double>() == Numbers{2, 1, 3});
  CHECK(topk(x, 0).values.shape() == Shape{2, 0});
}

TEST_CASE_TEMPLATE("the gradient of sorted values goes back to where they stood", M, Eager, Lazy) {
  const Tensor<M> x = vector_of<M>({3, 1, 2});
  CHECK(weighted_gradient(x, [](auto& v) { return sort(v); }) == Numbers{3, 1, 2});
  CHECK(weighted_gradient(x, [](auto& v) { return sort(v, 0, true); }) == Numbers{1, 3, 2});
  CHECK(weighted_gradient(x, [](auto& v) { return topk(v, 2).values; }) == Numbers{1, 0, 2});
}

TEST_CASE_TEMPLATE("lines of one element are in order, and their first one stands at 0", M, Eager, Lazy) {
  const Numbers given{3, -0.0, std::nan(""), -1};
  for (const DType type : {DType::f16, DType::f64, DType::i32}) {
    const Tensor<M> x = Tensor<M>::from(is_floating(type) ? given : Numbers{3, 0, 7, -1}, {2, 1, 2}).astype(type);
    const Numbers numbers = x.astype(DType::f64).template to_vector<double>();
    const auto check_same = [&](const Tensor<M>& result) {
      CHECK(result.dtype() == type);
      CHECK(result.shape() == x.shape());
      const Numbers got = result.astype(DType::f64).template to_vector<double>();
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK((got[i] == numbers[i] || std::isnan(numbers[i])));
        CHECK(std::isnan(got[i]) == std::isnan(numbers[i]));
        CHECK(std::signbit(got[i]) == std::signbit(numbers[i]));
      }
    };
    const auto check_zeros = [&](const Tensor<M>& result, const Shape& shape) {
      CHECK(result.shape() == shape);
      CHECK(result.template to_vector<std::int64_t>() == Places(4, 0));
    };
    check_same(sort(x, 1, true));
    check_same(topk(x, 1, -2).values);
    check_zeros(argsort(x, 1), x.shape());
    check_zeros(topk(x, 1, 1, false).indices, x.shape());
    check_zeros(argmax(x, 1, true), x.shape());
    check_zeros(argmin(x, -2), {2, 2});
  }
  const Tensor<M> x = Tensor<M>::from(Numbers{3, 1}, {2, 1});
  CHECK(weighted_gradient(x, [](auto& v) { return sort(v, 1); }) == Numbers{1, 2});
  CHECK(weighted_gradient(x, [](auto& v) { return topk(v, 1, 1).values; }) == Numbers{1, 2});
  CHECK(topk(x, 0, 1).values.shape() == Shape{2, 0});
  CHECK_THROWS_AS(topk(x, 2, 1), ValueError);
  CHECK_THROWS_AS(sort(x.astype(DType::c64), 1), TypeError);
  CHECK_THROWS_AS(argmax(x.astype(DType::c64), 1), TypeError);
}

TEST_CASE_TEMPLATE("searchsorted finds the place before equals or behind them", M, Eager, Lazy) {
  const Tensor<M> edges{1, 2, 2, 3}, values{{0, 2}, {3, 9}};
  CHECK(searchsorted(edges, values).template to_vector<std::int64_t>() == Places{0, 1, 3, 4});
  CHECK(searchsorted(edges, values, true).template to_vector<std::int64_t>() == Places{0, 3, 4, 4});
  CHECK(searchsorted(edges, 1.5).template to_vector<std::int64_t>() == Places{1});
}

TEST_CASE("searchsorted among few edges and among many, of every type, counts those before a value") {
  using T = Tensor<Eager>;
  for (const DType dtype :
       {DType::i8, DType::u8, DType::i32, DType::i64, DType::u64, DType::f16, DType::f32, DType::f64}) {
    for (const std::int64_t count : {0, 1, 2, 7, 8, 9, 10, 40}) {
      CAPTURE(name_of(dtype));
      CAPTURE(count);
      // Edges 0, 2, 2, 4, 6, 6, ...; values from 0 to 100 and back.
      Numbers edges, values;
      for (std::int64_t i = 0; i < count; ++i) edges.push_back(static_cast<double>((4 * i + 2) / 3 / 2 * 2));
      for (std::int64_t i = 0; i < 203; ++i) values.push_back(static_cast<double>(i <= 100 ? i : 202 - i));
      const T sorted = T::from(edges, {count}).astype(dtype), wanted = T::from(values, {203}).astype(dtype);
      for (const bool right : {false, true}) {
        Places expected;
        for (const double value : values) {
          expected.push_back(
              std::ranges::count_if(edges, [&](double edge) { return right ? edge <= value : edge < value; }));
        }
        CHECK(searchsorted(sorted, wanted, right).to_vector<std::int64_t>() == expected);
        CHECK(searchsorted(sorted, flip(wanted), right).to_vector<std::int64_t>() ==
              Places(expected.rbegin(), expected.rend()));
      }
    }
  }
}

TEST_CASE_TEMPLATE("histogram counts between edges, the last one included", M, Eager, Lazy) {
  const Tensor<M> x{0, 1, 1, 2, 3, 4};
  CHECK(histogram(x, Tensor<M>{1, 2, 3}).template to_vector<std::int64_t>() == Places{2, 2});
  CHECK(histogram(x, Tensor<M>{0.5, 1.5}).template to_vector<std::int64_t>() == Places{2});
}

TEST_CASE_TEMPLATE("errors of sorting and searching state the reason", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::zeros({2, 3});
  CHECK_THROWS_WITH_AS(sort(Tensor<M>::full({}, 1.0)), "sort: axis -1 given, but a 0-d tensor has no axes", IndexError);
  CHECK_THROWS_WITH_AS(topk(x, 4), "topk: k = 4 is outside [0, 3], the length of axis 1 of shape (2,3)", ValueError);
  CHECK_THROWS_WITH_AS(searchsorted(x, x), "searchsorted: what is searched must be a vector, not of shape (2,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(histogram(x, Tensor<M>{1}),
                       "histogram: edges must be a vector of two or more, not of shape (1,)", ShapeError);
}

TEST_CASE("distinct elements come in order, the zeros as one and NaN once at the end") {
  const double nan = std::nan("");
  const Numbers found = unique(vector_of<Eager>({3, nan, 0, 1, -0.0, nan, 3})).to_vector<double>();
  REQUIRE(found.size() == 4);
  CHECK(Numbers(found.begin(), found.begin() + 3) == Numbers{0, 1, 3});
  CHECK(std::isnan(found[3]));
  CHECK(unique(Tensor<Eager>{{2, 1}, {1, 2}}).to_vector<std::int64_t>() == Places{1, 2});
  CHECK(unique(Tensor<Eager>{0.5, 0.25}.astype(DType::f16)).dtype() == DType::f16);
  CHECK(unique(Tensor<Eager>::zeros({0})).shape() == Shape{0});
}

TEST_CASE("non-zero elements are told by their coordinates, of views as well") {
  const Tensor<Eager> x{{0, 5, 0}, {7, 0, 8}};
  CHECK(nonzero(x).to_vector<std::int64_t>() == Places{0, 1, 1, 0, 1, 2});
  CHECK(nonzero(transpose(x)).to_vector<std::int64_t>() == Places{0, 1, 1, 0, 2, 1});
  CHECK(nonzero(Tensor<Eager>::zeros({2, 2})).shape() == Shape{0, 2});
  CHECK(nonzero(Tensor<Eager>{std::nan(""), 0.0}).to_vector<std::int64_t>() == Places{0});
}

TEST_CASE("what has a shape that depends on data is refused in lazy mode") {
  const Tensor<Lazy> x{1, 2};
  CHECK_THROWS_WITH_AS(unique(x), "unique: the shape depends on the data, so it works in eager mode only", GraphError);
  CHECK_THROWS_WITH_AS(nonzero(x), "nonzero: the shape depends on the data, so it works in eager mode only",
                       GraphError);
}

TEST_CASE_TEMPLATE("edges of a histogram that do not ascend are refused when it is computed", M, Eager, Lazy) {
  const Tensor<M> x = vector_of<M>({1, 2, 3});
  CHECK_THROWS_WITH_AS(histogram(x, vector_of<M>({1, 3, 2})).to_string(),
                       "histogram: edges must ascend, but edge 2 is below edge 1", ValueError);
  CHECK(histogram(x, vector_of<M>({1, 2, 2, 3})).template to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{1, 0, 2});  // numpy.histogram([1, 2, 3], [1, 2, 2, 3])
}
