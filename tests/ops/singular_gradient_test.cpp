// SPDX-License-Identifier: MIT
// The gradient of the determinant is the matrix of cofactors, which a matrix of rank n - 1 has as well, though it has
// no inverse.
#include <doctest/doctest.h>

#include <complex>

#include "tests/support/both_modes.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/complex.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"

using namespace tyto;

namespace {

template <class T>
void check_cofactors(const T& matrix, const T& cofactors, double tolerance) {
  for (const DType type : {DType::f32, DType::f64}) {
    CAPTURE(type);
    const T slope = grad([](const T& a) { return linalg::det(a); })(matrix.astype(type));
    CHECK(allclose(slope.astype(DType::f64), cofactors.astype(DType::f64), 0,
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

BOTH_MODES("of a complex matrix of rank n - 1 the cofactors are conjugated") {
  using T = Tensor<Mode>;
  // {{1, i}, {i, -1}}, whose cofactors are {{-1, -i}, {-i, 1}}.
  const T re{{1.0, 0.0}, {0.0, -1.0}}, im{{0.0, 1.0}, {1.0, 0.0}};
  const T slope = grad([](const T& a) { return real(linalg::det(a)); })(complex(re, im).astype(DType::c128));
  CHECK(allclose(real(slope), T{{-1.0, 0.0}, {0.0, 1.0}}.astype(DType::f64), 0, 1e-15));
  CHECK(allclose(imag(slope), T{{0.0, 1.0}, {1.0, 0.0}}.astype(DType::f64), 0, 1e-15));
}
