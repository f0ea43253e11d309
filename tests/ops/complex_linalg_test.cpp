// SPDX-License-Identifier: MIT
// Factorisations of complex matrices: residuals of many sizes and shapes, and what degenerate matrices give.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include <tyto/linalg.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"

namespace complex_linalg_test {

namespace {

using tyto::DType;
using tyto::Shape;
namespace linalg = tyto::linalg;

template <class T>
T drawn(const Shape& shape, DType part, std::uint64_t seed) {
  return complex(T::normal(shape, {.dtype = part, .key = tyto::Key{seed, 0}}),
                 T::normal(shape, {.dtype = part, .key = tyto::Key{seed, 1}}));
}
template <class T>
T adjoint(const T& x) {
  return conj(matrix_transpose(x));
}
template <class T>
double largest(const T& x) {
  return x.size() == 0 ? 0 : max(abs(x)).astype(DType::f64).template item<double>();
}
template <class T>
T identity(std::int64_t size, DType part) {
  return T::eye(size, size, 0, part);
}

constexpr std::int64_t sizes[] = {1, 2, 7, 9, 33, 100};

/// A bound on rounding errors for matrices of this size, whose elements are about one.
double allowed(DType part, std::int64_t size) {
  return (part == DType::f64 ? 1e-14 : 6e-6) * static_cast<double>(size + 4);
}

}  // namespace

BOTH_MODES("complex systems, inverses and factors give the matrix back") {
  using T = tyto::Tensor<Mode>;
  for (const DType part : {DType::f32, DType::f64}) {
    for (const std::int64_t n : sizes) {
      CAPTURE(n);
      const T a = drawn<T>({n, n}, part, 1) + 2.0 * std::sqrt(static_cast<double>(n)) * identity<T>(n, part);
      const T b = drawn<T>({n, 3}, part, 2);
      const double most = 4 * allowed(part, n);
      CHECK(largest(matmul(a, linalg::solve(a, b)) - b) < most);
      CHECK(largest(matmul(a, linalg::inv(a)) - identity<T>(n, part)) < most);
      const auto [p, l, u] = linalg::lu(a);
      CHECK(largest(matmul(p, matmul(l, u)) - a) < most);
      const T definite = matmul(a, adjoint(a));
      const T factor = linalg::cholesky(definite);
      CHECK(largest(matmul(factor, adjoint(factor)) - definite) < most * static_cast<double>(n + 4));
      CHECK(largest(imag(diagonal(factor, 0, 0, 1))) == 0);
    }
  }
}

BOTH_MODES("complex QR, eigenvectors and singular vectors are orthonormal and give the matrix back") {
  using T = tyto::Tensor<Mode>;
  for (const DType part : {DType::f32, DType::f64}) {
    for (const std::int64_t n : sizes) {
      for (const std::int64_t columns : {n, (n + 1) / 2, 2 * n}) {
        CAPTURE(n);
        CAPTURE(columns);
        const T a = drawn<T>({n, columns}, part, 3);
        const std::int64_t least = std::min(n, columns);
        const double most = 4 * allowed(part, n);
        for (const linalg::Columns wanted : {linalg::Columns::reduced, linalg::Columns::complete}) {
          const auto [q, r] = linalg::qr(a, wanted);
          CHECK(largest(matmul(q, r) - a) < most);
          CHECK(largest(matmul(adjoint(q), q) - identity<T>(q.shape()[1], part)) < most);
          const auto [u, s, vh] = linalg::svd(a, wanted);
          CHECK(largest(matmul(adjoint(u), u) - identity<T>(u.shape()[1], part)) < most);
          CHECK(largest(matmul(vh, adjoint(vh)) - identity<T>(vh.shape()[0], part)) < most);
          const T left = u(tyto::all, tyto::slice({}, least)), right = vh(tyto::slice({}, least), tyto::all);
          CHECK(largest(matmul(left * s, right) - a) < most * 2);
          CHECK(largest(linalg::svdvals(a) - s) < most * 2);
          CHECK(s.dtype() == part);
        }
        const T p = linalg::pinv(a);
        CHECK(largest(matmul(a, matmul(p, a)) - a) < most * 100);
      }
      const T x = drawn<T>({n, n}, part, 4), h = x + adjoint(x);
      const auto [values, vectors] = linalg::eigh(h);
      const double most = 16 * allowed(part, n);
      CHECK(values.dtype() == part);
      CHECK(largest(matmul(h, vectors) - vectors * values) < most);
      CHECK(largest(matmul(adjoint(vectors), vectors) - identity<T>(n, part)) < most);
      CHECK(largest(linalg::eigvalsh(h) - values) < most);
    }
  }
}

BOTH_MODES("equal, zero and huge values of complex matrices are found") {
  using T = tyto::Tensor<Mode>;
  using C = std::complex<double>;
  const T one = identity<T>(5, DType::f64) * C(1, 0);
  CHECK(largest(linalg::eigvalsh(one * 3.0) - 3.0) < 1e-14);
  CHECK(largest(linalg::svdvals(one * C(0, 2)) - 2.0) < 1e-14);
  CHECK(largest(linalg::svdvals(one * 0.0)) == 0);
  const T q = linalg::qr(drawn<T>({6, 6}, DType::f64, 5)).q;
  const T projector = matmul(q(tyto::all, tyto::slice(0, 3)), adjoint(q)(tyto::slice(0, 3), tyto::all));
  const auto [values, vectors] = linalg::eigh(projector);
  CHECK(largest(values - T{0.0, 0.0, 0.0, 1.0, 1.0, 1.0}.astype(DType::f64)) < 1e-13);
  CHECK(largest(matmul(vectors * values, adjoint(vectors)) - projector) < 1e-13);
  CHECK(linalg::matrix_rank(projector).template item<std::int64_t>() == 3);
  CHECK(largest(linalg::pinv(projector) - projector) < 1e-13);
  const T huge = drawn<T>({4, 4}, DType::f64, 6) * 1e250, tiny = huge * 1e-250 * 1e-250;
  for (const T& a : {huge, tiny}) {
    const auto [u, s, vh] = linalg::svd(a);
    CHECK(largest(matmul(u * s, vh) / max(s) - a / max(s)) < 1e-14);
  }
}

TEST_CASE("what complex matrices lack is an error that names it, or NaN in graphs") {
  using T = tyto::Tensor<tyto::Eager>;
  using C = std::complex<double>;
  const T singular{{C(1, 0), C(0, 1)}, {C(0, 1), C(-1, 0)}};
  CHECK_THROWS_WITH_AS(linalg::inv(singular),
                       doctest::Contains("inv: the matrix is singular: it has no pivot in column 2"), tyto::ValueError);
  CHECK_THROWS_WITH_AS(linalg::cholesky(singular), doctest::Contains("is not positive definite"), tyto::ValueError);
  const auto [x, info] = linalg::solve_ex(singular, T{C(1, 0), C(0, 0)});
  CHECK(info.item<std::int64_t>() == 2);
  CHECK(sum(isnan(real(x))).item<std::int64_t>() == 2);
  const T endless = singular * std::numeric_limits<double>::infinity();
  CHECK(sum(isnan(linalg::svdvals(endless))).item<std::int64_t>() == 2);
  CHECK(sum(isnan(linalg::eigvalsh(endless))).item<std::int64_t>() == 2);
  // Its square is zero, so its exponential is the identity and itself.
  CHECK(allclose(linalg::expm(singular), T{{C(2, 0), C(0, 1)}, {C(0, 1), C(0, 0)}}, 1e-12, 1e-12));
}

}  // namespace complex_linalg_test
