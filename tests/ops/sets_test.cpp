// SPDX-License-Identifier: MIT
// Distinct elements with where they come from, in fixed and in data-dependent shapes; and what the functions refuse.
#include "tyto/sets.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <map>
#include <numeric>
#include <tuple>

#include "tests/support/weighted_gradient.hpp"
#include "tyto/calculus.hpp"
#include "tyto/choosing.hpp"
#include "tyto/polynomials.hpp"
#include "tyto/rearranging.hpp"
#include "tyto/special.hpp"
#include "tyto/statistics.hpp"
#include "tyto/window_functions.hpp"

using namespace tyto;
using namespace tyto::testing;
using Places = std::vector<std::int64_t>;

TEST_CASE("unique_all numbers elements by the first of their kind") {
  using T = Tensor<Eager>;
  const double nan = std::nan("");
  const Unique<Eager> found = unique_all(T{{3.0, 1.0, nan}, {nan, 3.0, -0.0}});
  CHECK(numbers(found.values)[0] == 0);
  CHECK(std::signbit(numbers(found.values)[0]));
  CHECK(found.values.shape() == Shape{4});
  CHECK(std::isnan(numbers(found.values)[3]));
  CHECK(found.indices.to_vector<std::int64_t>() == Places{5, 1, 0, 2});
  CHECK(found.inverse.to_vector<std::int64_t>() == Places{2, 1, 3, 3, 2, 0});
  CHECK(found.inverse.shape() == Shape{2, 3});
  CHECK(found.counts.to_vector<std::int64_t>() == Places{1, 1, 2, 2});
  const Unique<Eager> none = unique_all(T::zeros({0}));
  CHECK(none.values.shape() == Shape{0});
  CHECK(none.counts.shape() == Shape{0});
  const Unique<Eager> of_rows = unique_all(T::zeros({0, 3}));
  CHECK(of_rows.values.shape() == Shape{0});
  CHECK(of_rows.inverse.shape() == Shape{0, 3});
  CHECK(unique(T::zeros({2, 0, 3})).shape() == Shape{0});
  CHECK(unique(T::zeros({0, 3}), {.axis = 0}).shape() == Shape{0, 3});
}

TEST_CASE_TEMPLATE("a size makes unique a function of one shape, in graphs too", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{5, 2, 5, 9, 2};
  const Unique<M> wide = unique_all(x, {.size = 5});
  CHECK(wide.values.template to_vector<std::int64_t>() == Places{2, 5, 9, 2, 2});
  CHECK(wide.counts.template to_vector<std::int64_t>() == Places{2, 2, 1, 0, 0});
  CHECK(wide.inverse.template to_vector<std::int64_t>() == Places{1, 0, 1, 2, 0});
  CHECK(unique(x, {.size = 2}).template to_vector<std::int64_t>() == Places{2, 5});
  CHECK(unique(x, {.size = 0}).shape() == Shape{0});
  const Unique<M> rows = unique_all(T{{1, 2, 3}, {0, 2, 3}, {1, 2, 3}}, {.axis = 0, .size = 2});
  CHECK(rows.values.template to_vector<std::int64_t>() == Places{0, 2, 3, 1, 2, 3});
  CHECK(rows.inverse.template to_vector<std::int64_t>() == Places{1, 0, 1});
  const Unique<M> columns = unique_all(T{{1, 0, 1}, {2, 2, 2}}, {.axis = -1, .size = 2});
  CHECK(columns.values.shape() == Shape{2, 2});
  CHECK(columns.values.template to_vector<std::int64_t>() == Places{0, 1, 2, 2});
  CHECK_THROWS_WITH_AS(unique(x, {.size = -1}), "unique: the size -1 is negative", ValueError);
  CHECK_THROWS_WITH_AS(unique(T::zeros({0}), {.size = 2}), "unique: shape (0,) has no elements to fill a size of 2",
                       ShapeError);
}

TEST_CASE_TEMPLATE("unique_all counts elements of every type as a map does", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (const DType type : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::u16,
                           DType::u32, DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(type);
    const T given = (T::arange(40) * 37 % 11 * 3).astype(type);
    const T x = flip(reshape(given, {8, 5}), {0}).T();  // neither dense nor in order
    struct Occurrences {
      std::int64_t first, count;
    };
    std::map<double, Occurrences> expected;
    const std::vector<double> elements = ravel(x).astype(DType::f64).template to_vector<double>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      ++expected.try_emplace(elements[i], Occurrences{static_cast<std::int64_t>(i), 0}).first->second.count;
    }
    const auto distinct = static_cast<std::int64_t>(expected.size());
    for (const std::int64_t size : {distinct, distinct + 3, std::int64_t{1}}) {
      CAPTURE(size);
      const bool asked = size != distinct || std::is_same_v<M, Lazy>;
      const Unique<M> found = asked ? unique_all(x, {.size = size}) : unique_all(x);
      CHECK(found.values.dtype() == type);
      CHECK(found.inverse.shape() == x.shape());
      std::vector<double> values;
      Places first, counts, inverse;
      for (const auto& [value, occurrences] : expected) {
        if (std::ssize(values) == size) break;
        values.push_back(value);
        first.push_back(occurrences.first);
        counts.push_back(occurrences.count);
      }
      for (; std::ssize(values) < size; counts.push_back(0)) {
        values.push_back(values[0]);
        first.push_back(first[0]);
      }
      for (const double element : elements) {
        inverse.push_back(std::min<std::int64_t>(std::distance(expected.begin(), expected.find(element)), size - 1));
      }
      CHECK(found.values.astype(DType::f64).template to_vector<double>() == values);
      CHECK(found.indices.template to_vector<std::int64_t>() == first);
      CHECK(found.counts.template to_vector<std::int64_t>() == counts);
      CHECK(found.inverse.template to_vector<std::int64_t>() == inverse);
    }
  }
}

TEST_CASE("distinct values have gradients where a tape remembers the elements") {
  using T = Tensor<Eager>;
  const T x{3.0, 1.0, 3.0};
  const auto weighted = [](const T& of) { return sum(unique_all(of, {.size = 2}).values * T{10.0, 20.0}); };
  CHECK(grad(weighted)(x).to_vector<float>() == std::vector<float>{20, 10, 0});
}

TEST_CASE_TEMPLATE("bincount leaves out what lies outside, and adds weights of every type", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{4, -1, 2, 9, 2, 0, 5, 2};
  CHECK(bincount(x, 5).template to_vector<std::int64_t>() == Places{1, 0, 3, 0, 1});
  CHECK(bincount(flip(x).astype(DType::i8), 5).template to_vector<std::int64_t>() == Places{1, 0, 3, 0, 1});
  CHECK(bincount(x, 0).shape() == Shape{0});
  const T weights{1, 2, 3, 4, 5, 6, 7, 8};
  for (const DType type : {DType::i64, DType::f16, DType::f32, DType::f64}) {
    CAPTURE(type);
    const T sums = bincount(x, 5, weights.astype(type));
    CHECK(sums.dtype() == (type == DType::i64 ? DType::f32 : type));
    CHECK(sums.astype(DType::f64).template to_vector<double>() == std::vector<double>{6, 0, 16, 0, 1});
  }
}

TEST_CASE("bincount without a length counts up to the largest number, none of them negative") {
  using T = Tensor<Eager>;
  CHECK(bincount(T{3, 1, 3}).to_vector<std::int64_t>() == Places{0, 1, 0, 2});
  CHECK(bincount(T::zeros({0}, DType::i64)).shape() == Shape{0});
  CHECK_THROWS_WITH_AS((void)bincount(T{3, -2}), "bincount: the number -2 is negative", ValueError);
  CHECK_THROWS_WITH_AS((void)bincount(T{INT64_MAX}),
                       "bincount: counts of all numbers up to 9223372036854775807 are more than any memory holds",
                       ValueError);
}

TEST_CASE_TEMPLATE("complex numbers are found among many, those that are no number nowhere", M, Eager, Lazy) {
  using T = Tensor<M>;
  using C = std::complex<double>;
  const double nan = std::nan("");
  const T x{C(1, 2), C(1, -2), C(0, 1), C(-0.0, 1), C(0, 3), C(2, 0), C(1, 2), C(nan, 1), C(5, 5), C(-1, -1)};
  const T set{C(2, 0), C(1, 2), C(0, 1), C(7, 0), C(8, 0), C(0, 9), C(nan, 1), C(-1, -1), C(-1, -1)};
  const std::vector<bool> expected{true, false, true, true, false, true, true, false, false, true};
  CHECK(isin(x, set).template to_vector<bool>() == expected);
  CHECK(isin(reshape(x, {2, 5}), set, true).shape() == Shape{2, 5});
  CHECK(isin(reshape(x, {2, 5}), set, true).template to_vector<bool>()[1]);
  CHECK(isin(T{1.0, 2.0, 3.0}, set).template to_vector<bool>() == std::vector<bool>{false, true, false});
}

// NumPy's: by the real part, then by the imaginary part.
TEST_CASE("sets of complex numbers come in the order of NumPy") {
  using T = Tensor<Eager>;
  using C = std::complex<double>;
  using List = std::vector<C>;
  const T x{C(1, 2), C(1, -2), C(0, 1), C(-0.0, 1), C(0, 3), C(2, 0), C(1, 2)};
  const T set{C(2, 0), C(1, 2), C(0, 1), C(7, 0), C(8, 0), C(0, 9)};
  const auto list = [](const T& values) { return values.astype(DType::c128).to_vector<C>(); };
  CHECK(list(intersect1d(x, set)) == List{C(0, 1), C(1, 2), C(2, 0)});
  CHECK(list(setdiff1d(x, set)) == List{C(0, 3), C(1, -2)});
  CHECK(list(setxor1d(x, set)) == List{C(0, 3), C(0, 9), C(1, -2), C(7, 0), C(8, 0)});
  CHECK(list(union1d(x, set)) == List{C(0, 1), C(0, 3), C(0, 9), C(1, -2), C(1, 2), C(2, 0), C(7, 0), C(8, 0)});
  CHECK(list(unique(T{C(0, 1), C(-0.0, 2), C(0, 1), C(-0.0, 1)})) == List{C(0, 1), C(0, 2)});
  CHECK(setxor1d(x, x).shape() == Shape{0});
}

TEST_CASE("functions with data-dependent shapes are refused by name in lazy mode") {
  using L = Tensor<Lazy>;
  const L x{1, 2, 2};
  const auto refused = [](const char* name, const auto& f) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(f(), doctest::Contains(name), GraphError);
  };
  refused("unique", [&] { (void)unique_all(x); });
  refused("union1d", [&] { (void)union1d(x, x); });
  refused("intersect1d", [&] { (void)intersect1d(x, x); });
  refused("setdiff1d", [&] { (void)setdiff1d(x, x); });
  refused("setxor1d", [&] { (void)setxor1d(x, x); });
  refused("bincount", [&] { (void)bincount(x); });
}

TEST_CASE_TEMPLATE("membership goes by value, never by NaN", M, Eager, Lazy) {
  using T = Tensor<M>;
  CHECK(isin(T{{1, 2}, {3, 4}}, T{4, 1, 9}).template to_vector<bool>() == std::vector<bool>{true, false, false, true});
  CHECK(isin(T{1, 2}, T::zeros({0})).template to_vector<bool>() == std::vector<bool>{false, false});
  CHECK(isin(T{1.5, std::nan("")}, T{std::nan(""), 1.5}).template to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(isin(T{300, 44}, T{44}.astype(DType::u8), true).template to_vector<bool>() == std::vector<bool>{true, false});
}

TEST_CASE_TEMPLATE("areas of strips of one width are those of their trapezoids", M, Eager, Lazy) {
  using T = Tensor<M>;
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(trapezoid(T::zeros({2, 0})).template to_vector<double>() == std::vector<double>{0, 0});
  CHECK(trapezoid(T{{3.0}, {infinity}}, 1).template to_vector<double>() == std::vector<double>{0, 0});
  CHECK(trapezoid(T{{1.0, 4.0}, {infinity, 1.0}}, 1, 0.5).template to_vector<double>() ==
        std::vector<double>{1.25, infinity});
  CHECK(trapezoid(T{{1.0, 4.0}, {2.0, 8.0}, {4.0, infinity}}, 0).template to_vector<double>() ==
        std::vector<double>{4.5, infinity});
  CHECK(trapezoid(T{{1.0, 4.0, 5.0}, {2.0, 8.0, -1.0}}.T(), 0, 2).template to_vector<double>() ==
        std::vector<double>{14, 17});
  CHECK(trapezoid(T{1, 2, 4}.astype(DType::i32), 0, 0.5).dtype() == DType::f32);
  CHECK(trapezoid(T{1.0, 2.0}, 0, T(2.0).astype(DType::f64)).dtype() == DType::f64);
  // As numpy.trapezoid has it in f64: of sin(i) + 1e3 for 100,001 samples at distances of 0.001.
  const T far = sin(T::arange(0, 100001, 1, DType::f64)) + 1000.0;
  CHECK(trapezoid(far, -1, 0.001).template item<double>() == doctest::Approx(100000.00182990271).epsilon(1e-14));
  CHECK(trapezoid(far.astype(DType::f32), -1, 0.001).template item<double>() ==
        doctest::Approx(100000.00182836913).epsilon(2e-7));
}

TEST_CASE_TEMPLATE("errors of array functions state what was wrong", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{1, 2, 3}, m = T::ones({2, 3}), none = T::zeros({0});
  CHECK_THROWS_WITH_AS(diff(x, -1), "diff: the order -1 is negative", ValueError);
  CHECK(diff(x, 5).shape() == Shape{0});
  CHECK_THROWS_WITH_AS(gradient(T{1.0}), "gradient: 2 samples or more are needed along axis 0 of shape (1,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(gradient(x, 0, 1.0, 3), "gradient: the edge order is 1 or 2, not 3", ValueError);
  CHECK_THROWS_WITH_AS(trapezoid(x, 0, T{1.0, 2.0}),
                       "trapezoid: 3 places are needed along axis 0 of shape (3,), not a spacing of shape (2,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(interp(x, x, T{1, 2}),
                       "interp: places and values must be vectors of one length from 1 on, not (3,) and (2,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(convolve(x, none), "convolve: a vector of shape (0,) has no elements", ShapeError);
  CHECK_THROWS_WITH_AS(polyval(m, x), "polyval: a vector is needed, not shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(polyfit(x, x, -1), "polyfit: the degree -1 is negative", ValueError);
  CHECK_THROWS_WITH_AS(polyfit(x, T{1.0}, 1), "polyfit: 3 places and 1 values; as many are needed", ShapeError);
  CHECK_THROWS_WITH_AS(moving_sum(m, -1, 2), "moving_sum: before = -1 and after = 2 must be at least 0", ValueError);
  CHECK_THROWS_WITH_AS(average(m, T{1.0}), doctest::Contains("are neither shaped as (2,3) nor as its axis"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(bincount(T{0.5}), "bincount: integers are counted, not f32", TypeError);
  CHECK_THROWS_WITH_AS(bincount(m.astype(DType::i64)), "bincount: a vector is needed, not shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(digitize(x, m), "digitize: edges must be a vector, not of shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(histogram(x, 0, 0, 1), "histogram: 0 bins; at least one is needed", ValueError);
  CHECK_THROWS_WITH_AS(histogram(x, 3, 1, 1), "histogram: the range from 1 to 1 is empty", ValueError);
  CHECK_THROWS_WITH_AS(choose<M>(x, {}), "choose: no choices are given", ValueError);
  CHECK_THROWS_WITH_AS(select<M>({x > 1}, {}),
                       "select: 1 conditions and 0 choices; as many of both are needed, one or more", ValueError);
  CHECK_THROWS_WITH_AS(select<M>({x}, {x}), "select: condition 0 is of i64, not bool", TypeError);
  CHECK_THROWS_WITH_AS(partition(x, 3), "partition: element 3 is outside axis 0 of length 3", IndexError);
  CHECK_THROWS_WITH_AS(unravel_index(T{0.5}, {2}), "unravel_index: positions must be integers, not f32", TypeError);
  CHECK_THROWS_WITH_AS(ravel_multi_index<M>({x}, {2, 3}), "ravel_multi_index: 1 coordinates for shape (2,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(insert(x, 4, 0), "insert: position 4 is outside axis 0 of length 3", IndexError);
  CHECK_THROWS_WITH_AS(remove(x, {-4}), "remove: position -4 is outside axis 0 of length 3", IndexError);
  CHECK(remove(x, {0, 1, 2}).shape() == Shape{0});
  CHECK_THROWS_WITH_AS(rot90(m, 1, 1, -1), "rot90: both axes are axis 1", ValueError);
  CHECK_THROWS_WITH_AS(fill_diagonal(x, 0), "fill_diagonal: needs rank 2 or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(resize_to(none, {2}), "resize_to: there are no elements to repeat", ShapeError);
  CHECK_THROWS_WITH_AS(array_split(x, 0), "array_split: 0 parts are asked for; at least one is needed", ValueError);
  CHECK_THROWS_WITH_AS(array_split(x, INT64_MAX),
                       "array_split: 9223372036854775807 parts are asked for; at most 16777216 are made", ValueError);
  CHECK_THROWS_WITH_AS(
      (void)unstack(Tensor<M>::zeros({std::int64_t{1} << 40, 0})),
      "unstack: axis 0 of shape (1099511627776,0) has more than the 16777216 parts that are made at most", ValueError);
  CHECK(bitwise_count(T(std::uint64_t{UINT64_MAX})).template item<int>() == 64);
  CHECK(bitwise_count(T{true, false}).template to_vector<int>() == std::vector<int>{1, 0});
  CHECK_THROWS_WITH_AS(gcd(T{1.5}, 2), "gcd: operands of type f32 are not accepted; it works on integers", TypeError);
  CHECK_THROWS_WITH_AS(hanning<T>(-1), "hanning: the count -1 is negative", ValueError);
  CHECK_THROWS_WITH_AS(hanning<T>(3, DType::i32), "hanning: a floating type is needed, not i32", TypeError);
  CHECK(kaiser<T>(1, 3.0).template to_vector<double>() == Numbers{1});
  CHECK(bartlett<T>(0).shape() == Shape{0});
}

TEST_CASE_TEMPLATE("common divisors take as many steps as neighbouring Fibonacci numbers ask for", M, Eager, Lazy) {
  using T = Tensor<M>;
  std::vector<std::uint8_t> rows, columns;
  std::vector<std::int64_t> divisors;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      rows.push_back(static_cast<std::uint8_t>(a));
      columns.push_back(static_cast<std::uint8_t>(b));
      divisors.push_back(std::gcd(a, b));
    }
  }
  const auto bytes = [](const std::vector<std::uint8_t>& all) {
    return T::from(std::span<const std::uint8_t>(all), {65536});
  };
  const T all_divisors = gcd(bytes(rows), bytes(columns));
  CHECK(all_divisors.astype(DType::i64).template to_vector<std::int64_t>() == divisors);
  for (const auto& [type, small, large] :
       {std::tuple{DType::u16, 28657.0, 46368.0}, std::tuple{DType::u32, 1836311903.0, 2971215073.0},
        std::tuple{DType::i32, 1134903170.0, 1836311903.0}}) {
    const DType dtype = type;  // clang 14 captures no structured binding
    CAPTURE(dtype);
    const T a = T::full({}, small, DType::f64).astype(dtype), b = T::full({}, large, DType::f64).astype(dtype);
    CHECK(gcd(a, b).template item<double>() == 1);
    CHECK(gcd(b, a).template item<double>() == 1);
  }
  CHECK(gcd(T(std::int64_t{4660046610375530309}), T(std::int64_t{7540113804746346429})).template item<std::int64_t>() ==
        1);
}

TEST_CASE_TEMPLATE("functions of empty tensors return empty tensors, zeros or NaN", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T none = T::zeros({0}), rows = T::zeros({0, 3});
  CHECK(nansum(none).template item<double>() == 0);
  CHECK(std::isnan(nanmean(none).template item<double>()));
  CHECK(nansum(rows, 0).shape() == Shape{3});
  CHECK(bincount(none.astype(DType::i64), 3).template to_vector<int>() == std::vector<int>{0, 0, 0});
  CHECK(diff(none).shape() == Shape{0});
  CHECK(trapezoid(none).template item<double>() == 0);
  CHECK(interp(none, T{0.0, 1.0}, T{0.0, 1.0}).shape() == Shape{0});
  CHECK(polyval(T{1, 2}, none).shape() == Shape{0});
  CHECK(polyder(T{5}).shape() == Shape{0});
  CHECK(vstack({rows, rows}).shape() == Shape{0, 3});
  CHECK(append(none, T{1.0}).shape() == Shape{1});
  CHECK(lexsort({none, none}).shape() == Shape{0});
  CHECK(put(none, T::zeros({0}, DType::i64), none).shape() == Shape{0});
  CHECK(gammainc(none, none).shape() == Shape{0});
  CHECK(sinc(none).shape() == Shape{0});
  CHECK(unravel_index(none.astype(DType::i64), {2, 2})[1].shape() == Shape{0});
}

TEST_CASE("setxor1d takes what stands once among the values of both, NaN of each") {
  using T = Tensor<Eager>;
  CHECK(numbers(setxor1d(T{3, 1, 1, 5, 9}, T{9, 2, 3, 2})) == std::vector<double>{1, 2, 5});
  CHECK(numbers(setxor1d(T{4, 4}, T{4})).empty());
  CHECK(setxor1d(T::zeros({0}), T::zeros({0})).shape() == Shape{0});
  CHECK(numbers(setxor1d(T::zeros({0}), T{2, 1})) == std::vector<double>{1, 2});
  CHECK(setxor1d(T{std::nan(""), 1.0}, T{std::nan(""), 1.0}).size() == 2);
}
