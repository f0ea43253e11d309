// SPDX-License-Identifier: MIT
// Limits of element types, names of the array API standard, polynomials by their zeros, and errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"
#include "tyto/array_api.hpp"
#include "tyto/bits.hpp"
#include "tyto/calculus.hpp"
#include "tyto/fft.hpp"
#include "tyto/linalg.hpp"
#include "tyto/polynomials.hpp"
#include "tyto/products.hpp"
#include "tyto/special.hpp"
#include "tyto/statistics.hpp"
#include "tyto/type_info.hpp"

namespace numpy_namespace {

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

TEST_CASE("limits of floating types are NumPy's, and those of complex ones are their parts'") {
  CHECK(finfo(DType::f16).eps == 0.0009765625);
  CHECK(finfo(DType::f16).max == 65504);
  CHECK(finfo(DType::f16).smallest_normal == 6.103515625e-05);
  CHECK(finfo(DType::bf16).max == 3.3895313892515355e38);
  CHECK(finfo(DType::f32).min == -3.4028234663852886e38);
  CHECK(finfo(DType::f64).eps == 2.220446049250313e-16);
  CHECK(finfo(DType::c64).eps == finfo(DType::f32).eps);
  CHECK(finfo(DType::c128).bits == 128);
  CHECK_THROWS_WITH_AS(finfo(DType::i32), "finfo: a floating or complex type is needed, not i32", TypeError);
}

TEST_CASE("limits of integer types") {
  CHECK(iinfo(DType::i8).min == -128);
  CHECK(iinfo(DType::i8).max == 127);
  CHECK(iinfo(DType::u16).max == 65535);
  CHECK(iinfo(DType::i64).min == INT64_MIN);
  CHECK(iinfo(DType::u64).max == UINT64_MAX);
  CHECK(iinfo(DType::u32).bits == 32);
  CHECK_THROWS_WITH_AS(iinfo(DType::boolean), "iinfo: an integer type is needed, not bool", TypeError);
}

// Rows and columns: bool u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64 c64 c128, from numpy.can_cast.
TEST_CASE("types hold all of another type's numbers where NumPy casts safely") {
  const DType types[] = {DType::boolean, DType::u8,  DType::u16, DType::u32, DType::u64, DType::i8,  DType::i16,
                         DType::i32,     DType::i64, DType::f16, DType::f32, DType::f64, DType::c64, DType::c128};
  const char* const expected[] = {"11111111111111", "01111011111111", "00111001101111", "00011000100101",
                                  "00001000000101", "00000111111111", "00000011101111", "00000001100101",
                                  "00000000100101", "00000000011111", "00000000001111", "00000000000101",
                                  "00000000000011", "00000000000001"};
  for (std::size_t from = 0; from < std::size(types); ++from) {
    for (std::size_t to = 0; to < std::size(types); ++to) {
      CAPTURE(types[from]);
      CAPTURE(types[to]);
      CHECK(can_cast(types[from], types[to]) == (expected[from][to] == '1'));
    }
  }
  CHECK(can_cast(DType::u8, DType::bf16));
  CHECK(can_cast(DType::bf16, DType::c64));
  CHECK_FALSE(can_cast(DType::i16, DType::bf16));
  CHECK_FALSE(can_cast(DType::f16, DType::bf16));
  CHECK_FALSE(can_cast(DType::f32, DType::bf16));
}

BOTH_MODES("the type of arithmetic is that of its results") {
  using T = tyto::Tensor<Mode>;
  const T halves = T::ones({2}, DType::f16), counts = T::ones({2}, DType::i32);
  CHECK(result_type(halves, 2.0) == (halves * 2.0).dtype());
  CHECK(result_type(counts, 2.0) == DType::f32);
  CHECK(result_type(counts, halves) == (counts + halves).dtype());
  CHECK(result_type(counts, T::ones({1}, DType::u32), 1) == DType::i64);
  CHECK_THROWS_WITH_AS(result_type(std::vector<T>{}), "result_type: at least one operand is needed", ValueError);
}

BOTH_MODES("running sums and products may begin with those of nothing") {
  using T = tyto::Tensor<Mode>;
  const T x{{1, 2}, {3, 4}};
  CHECK(numbers(cumulative_sum(x, 0, true)) == Numbers{0, 0, 1, 2, 4, 6});
  CHECK(numbers(cumulative_prod(x, -1, true)) == Numbers{1, 1, 2, 1, 3, 12});
  CHECK(cumulative_sum(T::zeros({0}), {}, true).shape() == Shape{1});
  CHECK_THROWS_WITH_AS(cumulative_sum(x), "cumulative_sum: needs an axis, as shape (2,2) is not that of a vector",
                       ShapeError);
}

BOTH_MODES("zeros of a polynomial are those that it is made of") {
  using T = tyto::Tensor<Mode>;
  const T zeros = T{3.0, -1.0, 0.5, 0.0}.astype(DType::f64);
  const auto found = roots(poly(zeros)).template to_vector<std::complex<double>>();
  Numbers real;
  for (const auto& zero : found) {
    real.push_back(zero.real());
    CHECK(std::abs(zero.imag()) < 1e-12);
  }
  std::sort(real.begin(), real.end());
  REQUIRE(real.size() == 4);
  const double expected[] = {-1, 0, 0.5, 3};
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(real[i] - expected[i]) < 1e-12);
  CHECK(roots(T{5.0}).shape() == Shape{0});
  const auto pair = roots(T{1.0, 0.0, 4.0}).template to_vector<std::complex<float>>();
  CHECK(std::abs(std::abs(pair[0].imag()) - 2) < 1e-6);
  CHECK(std::abs(pair[0] - std::conj(pair[1])) < 1e-6);
}

BOTH_MODES("a product of matrices with vectors takes the vector's conjugate on the left alone") {
  using T = tyto::Tensor<Mode>;
  const std::complex<double> i(0, 1);
  const T a = T{{std::complex(1.0, 0.0), i}, {2.0 * i, std::complex(0.0, 0.0)}}, x = T{i, std::complex(1.0, 0.0)};
  CHECK(matvec(a, x).template to_vector<std::complex<double>>() == std::vector{2.0 * i, std::complex(-2.0, 0.0)});
  CHECK(vecmat(x, a).template to_vector<std::complex<double>>() == std::vector{i, std::complex(1.0, 0.0)});
}

BOTH_MODES("functions of NumPy's namespace say what was wrong with them") {
  using T = tyto::Tensor<Mode>;
  const T x{1.0, 2.0, 3.0}, a = T::ones({2, 3});
  CHECK_THROWS_WITH_AS(packbits(x), "packbits: bool or integers are packed, not f32", TypeError);
  CHECK_THROWS_WITH_AS(unpackbits(x), "unpackbits: u8 is needed, not f32", TypeError);
  CHECK_THROWS_WITH_AS(unpackbits(T{1}.astype(DType::u8), {}, -9), "unpackbits: 9 bits are left out of 8", ValueError);
  CHECK_THROWS_WITH_AS(polydiv(x, T::zeros({0})), "polydiv: a vector of shape (0,) has no elements", ShapeError);
  CHECK_THROWS_WITH_AS(poly(T(1.0)), "poly: a vector is needed, not shape ()", ShapeError);
  CHECK_THROWS_WITH_AS(roots(a), "roots: a vector is needed, not shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(matvec(a, T{1.0, 2.0}),
                       "matvec: columns of matrices differ from elements of vectors: (2,3) and (2,)", ShapeError);
  CHECK_THROWS_WITH_AS(vecmat(x, a), "vecmat: elements of vectors differ from rows of matrices: (3,) and (2,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      histogramdd(a, {x, x}),
      "histogramdd: points must be rows of a matrix with a column for each of 2 vectors of edges, not of shape (2,3)",
      ShapeError);
  CHECK_THROWS_WITH_AS(histogramdd(a, {x, x, T{1.0}}),
                       "histogramdd: vectors of two edges or more are needed, not of shape (1,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::tensorsolve(a, x),
                       "tensorsolve: (2,3) has 3 unknowns after the axes of (3,); as many as its 3 elements are needed",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::tensorinv(a, 1),
                       "tensorinv: the first 1 axes of (2,3) have 2 elements and the others 3; as many are needed",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::tensorinv(a, 3), "tensorinv: 3 axes are asked for, shape (2,3) has 2", ValueError);
}

TEST_CASE_TEMPLATE("isclose: what is infinite is close to itself alone, what is NaN to nothing", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T a{1.0, INFINITY, INFINITY, -INFINITY, 1.0, NAN, 0.0, 1e-8, 1.0, 1e30, -2.0};
  const T b{1.000005, INFINITY, -INFINITY, 1.0, INFINITY, NAN, 1e-8, 0.0, 1.0001, 1.000001e30, -2.0};
  // NumPy's answer.
  const T expected{true, true, false, false, false, false, true, true, false, true, true};
  CHECK(array_equal(isclose(a, b), expected));
  CHECK(array_equal(isclose(a, b, 0), T{false, true, false, false, false, false, true, true, false, false, true}));
  CHECK(array_equal(isclose(a(slice(4, 6)), b(slice(4, 6)), 1e-5, 1e-8, true), T{false, true}));
  CHECK(array_equal(isclose(T{1, 100000, 5}, T{1, 100001, 6}), T{true, true, false}));
}

BOTH_MODES("slopes of f64 numbers divide by a spacing that is not rounded to f32") {
  using T = Tensor<Mode>;
  const T squares = square(T::arange(5).astype(DType::f64));
  const auto slopes = gradient(squares, 0, 0.3).template to_vector<double>();
  CHECK(slopes[2] == doctest::Approx(4 / 0.3).epsilon(1e-15));
  CHECK(slopes[0] == doctest::Approx(1 / 0.3).epsilon(1e-15));
  const T cubes = squares * T::arange(5).astype(DType::f64);
  const auto ends = gradient(cubes, 0, 0.3, 2).template to_vector<double>();
  CHECK(ends[0] == doctest::Approx(-2 / 0.3).epsilon(1e-14));
  CHECK(ends[4] == doctest::Approx(46 / 0.3).epsilon(1e-14));
  // Differences near the smallest numbers of f16 lose no more than their quotient does, as NumPy's.
  const auto small = gradient((T{0.0, 1.0, 4.0, 9.0, 16.0, 25.0} * 1e-6).astype(DType::f16), 0, 0.001);
  CHECK(small.astype(DType::f64).template to_vector<double>()[1] == doctest::Approx(0.0019951).epsilon(1e-3));
}

TEST_CASE("fast lengths of transforms end at 2^62") {
  CHECK(fft::next_fast_length(std::int64_t{1} << 62) == std::int64_t{1} << 62);
  CHECK(fft::next_fast_length(7) == 8);
  CHECK(fft::next_fast_length(121) == 125);
  CHECK_THROWS_WITH_AS(fft::next_fast_length(INT64_MAX),
                       "next_fast_length: the length 9223372036854775807 is above 2^62", ValueError);
}

}  // namespace numpy_namespace
