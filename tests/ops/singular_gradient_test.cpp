// SPDX-License-Identifier: MIT
// The gradient of the determinant is the matrix of cofactors, which a matrix of rank n - 1 has as well, though it has
// no inverse.
#include <doctest/doctest.h>

#include <complex>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/complex.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"

using namespace tyto;
using tyto_test::Numbers;

namespace {

template <class T>
void check_cofactors(const T& matrix, const T& cofactors, double tolerance) {
  for (const DType type : {DType::f32, DType::f64}) {
    CAPTURE(type);
    const T gradient = grad([](const T& a) { return linalg::det(a); })(matrix.astype(type));
    CHECK(allclose(gradient.astype(DType::f64), cofactors.astype(DType::f64), 0,
                   type == DType::f64 ? tolerance : tolerance * 1e9));
  }
}

}  // namespace

BOTH_MODES("the gradient of the determinant of a matrix of rank n - 1 is its cofactors") {
  using T = Tensor<Mode>;
  constexpr double exact = 1e-15, rounded = 1e-13;
  check_cofactors(T{{1.0, 2.0}, {2.0, 4.0}}, T{{4.0, -2.0}, {-2.0, 1.0}}, exact);
  check_cofactors(T{{1.0, 2.0}, {0.0, 0.0}}, T{{0.0, 0.0}, {-2.0, 1.0}}, exact);
  check_cofactors(T{{0.0, 3.0}, {0.0, 1.0}}, T{{1.0, 0.0}, {-3.0, 0.0}}, exact);
  check_cofactors(T{{2.0, 0.0, 0.0}, {0.0, 3.0, 0.0}, {0.0, 0.0, 0.0}},
                  T{{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 6.0}}, rounded);
  check_cofactors(T{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 9.0}},
                  T{{-3.0, 6.0, -3.0}, {6.0, -12.0, 6.0}, {-3.0, 6.0, -3.0}}, rounded);
  check_cofactors(T{{0.0}}, T{{1.0}}, exact);
}

BOTH_MODES("cofactors of a singular matrix scale with it") {
  using T = Tensor<Mode>;
  const auto check = [](const Numbers& matrix, const Numbers& cofactors, double largest, DType type) {
    CAPTURE(type);
    const auto n = cofactors.size() == 4 ? 2 : 3;
    const T found = grad([](const T& a) { return linalg::det(a); })(T::from(matrix, {n, n}).astype(type));
    const double epsilon = type == DType::f64 ? 2.3e-16 : 1.2e-7;
    CHECK(max(abs(found.astype(DType::f64) - T::from(cofactors, {n, n}))).template item<double>() <=
          8 * epsilon * largest);
  };
  for (const DType type : {DType::f32, DType::f64}) {
    for (const double size : {1e-12, 1e-9, 1e-7, 1.0, 1e9}) {
      CAPTURE(size);
      check({size, 2 * size, 2 * size, 4 * size}, {4 * size, -2 * size, -2 * size, size}, 4 * size, type);
      check({size, 0, 0, 0}, {0, 0, 0, size}, size, type);
      check({size, 0, 0, 0, 1 / size, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 1}, 1, type);
    }
    // Pivots whose product with what stands in for zero leaves the range.
    const double tiny = type == DType::f64 ? 1e-170 : 1e-20, large = type == DType::f64 ? 1e150 : 1e18;
    check({tiny, 0, 0, 0}, {0, 0, 0, tiny}, tiny, type);
    check({large, 0, 0, 0, large, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, large * large}, large * large, type);
    // Of rank n - 2 there are none.
    check({1e-9, 0, 0, 0, 0, 0, 0, 0, 0}, Numbers(9, 0), 1e-18, type);
  }
}

BOTH_MODES("of a complex matrix of rank n - 1 the cofactors are conjugated") {
  using T = Tensor<Mode>;
  // {{1, i}, {i, -1}}, whose cofactors are {{-1, -i}, {-i, 1}}.
  const T re{{1.0, 0.0}, {0.0, -1.0}}, im{{0.0, 1.0}, {1.0, 0.0}};
  const T gradient = grad([](const T& a) { return real(linalg::det(a)); })(complex(re, im).astype(DType::c128));
  CHECK(allclose(real(gradient), T{{-1.0, 0.0}, {0.0, 1.0}}.astype(DType::f64), 0, 1e-15));
  CHECK(allclose(imag(gradient), T{{0.0, 1.0}, {1.0, 0.0}}.astype(DType::f64), 0, 1e-15));
}
