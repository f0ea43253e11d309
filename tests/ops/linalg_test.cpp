// SPDX-License-Identifier: MIT
// Linear algebra: residuals of random matrices of many sizes, in both modes, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/complex.hpp"
#include "tyto/linalg.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

// Sizes about the blocks that factorisations are made of, in a few of which the last one is of one row.
constexpr std::int64_t sizes[] = {1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 34, 64, 65, 97, 129, 300};

double tolerance(DType type, std::int64_t size) {
  return (type == DType::f64 ? 1e-15 : 6e-7) * 8 * static_cast<double>(size + 8);
}

Tensor<Eager> random(const Shape& shape, DType type, std::uint64_t stream) {
  return Tensor<Eager>::normal(shape, {.dtype = type, .key = Key{7, stream}});
}

template <class T>
double largest(const T& x) {
  if (x.size() == 0) return 0;
  return cast(max(abs(x)), DType::f64).template item<double>();
}

/// Whether a and b agree, relative to the size of b's largest element.
template <class T>
void check_close(const T& a, const T& b, std::int64_t size) {
  CAPTURE(size);
  CAPTURE(b.dtype());
  REQUIRE(a.shape() == b.shape());
  CHECK(largest(a - b) <= tolerance(b.dtype(), size) * (1 + largest(b)));
}

template <class T>
T identity_like(const T& x) {
  return T::eye(x.shape().back(), -1, 0, x.dtype());
}

const DType types[] = {DType::f32, DType::f64};

}  // namespace

TEST_CASE("factors of random matrices of any size multiply to the matrix") {
  using T = Tensor<Eager>;
  for (const DType type : types) {
    for (const std::int64_t size : sizes) {
      const T a = random({size, size}, type, static_cast<std::uint64_t>(size));
      const T definite = matmul(a, a.T()) + static_cast<double>(size) * identity_like(a);
      const auto [p, l, u] = linalg::lu(a);
      check_close(matmul(p, matmul(l, u)), a, size);
      CHECK(largest(l) <= 1);
      const T factor = linalg::cholesky(definite);
      check_close(matmul(factor, factor.T()), definite, size);
      CHECK(array_equal(factor, tril(factor)));
      const auto [q, r] = linalg::qr(a);
      check_close(matmul(q, r), a, size);
      check_close(matmul(q.T(), q), identity_like(a), size);
      CHECK(array_equal(r, triu(r)));
      const T b = random({size, 3}, type, 1000 + static_cast<std::uint64_t>(size));
      check_close(matmul(definite, linalg::solve(definite, b)), b, size);
      check_close(matmul(definite, linalg::inv(definite)), identity_like(a), size);
      check_close(matmul(definite, linalg::cholesky_solve(factor, b)), b, size);
      check_close(matmul(definite.T(), linalg::lu_solve(linalg::lu_factor(definite), b, true)), b, size);
      check_close(matmul(l, linalg::triangular_solve(l, b, {.unit = true})), b, 64 * size);
    }
  }
}

TEST_CASE("eigenvalues and singular values with their vectors reconstruct random matrices of any size") {
  using T = Tensor<Eager>;
  for (const DType type : types) {
    for (const std::int64_t size : sizes) {
      const T a = random({size, size}, type, static_cast<std::uint64_t>(size)), symmetric = a + a.T();
      const auto [values, vectors] = linalg::eigh(symmetric);
      check_close(matmul(vectors * values, vectors.T()), symmetric, size);
      check_close(matmul(vectors.T(), vectors), identity_like(a), size);
      check_close(linalg::eigvalsh(symmetric), values, size);
      CHECK(bool(all(values(slice(1, {})) >= values(slice({}, -1)))));
      for (const std::int64_t columns : {size, size / 2 + 1, size / 5 + 1}) {
        const T tall = a(all, slice({}, columns));
        for (const T& each : {tall, tall.T()}) {
          const auto [u, s, vh] = linalg::svd(each, linalg::Columns::reduced);
          check_close(matmul(u * s, vh), each, size);
          check_close(matmul(u.T(), u), T::eye(columns, -1, 0, type), size);
          check_close(matmul(vh, vh.T()), T::eye(columns, -1, 0, type), size);
          check_close(linalg::svdvals(each), s, size);
          CHECK(bool(all(s(slice(1, {})) <= s(slice({}, -1)))));
        }
        if (size > 100) continue;
        const auto [u, s, vh] = linalg::svd(tall.T());
        check_close(matmul(u * s, vh(slice({}, columns))), tall.T(), size);
        check_close(matmul(vh, vh.T()), T::eye(size, -1, 0, type), size);
        const auto [q, r] = linalg::qr(tall, linalg::Columns::complete);
        check_close(matmul(q.T(), q), T::eye(size, -1, 0, type), size);
        check_close(matmul(q, r), tall, size);
      }
    }
  }
}

TEST_CASE("random matrices of any size multiply their eigenvectors by their eigenvalues") {
  using T = Tensor<Eager>;
  for (const DType type : types) {
    for (const std::int64_t size : sizes) {
      const T a = random({size, size}, type, static_cast<std::uint64_t>(size));
      const T turned = complex(a, random({size, size}, type, static_cast<std::uint64_t>(size + 1000)));
      for (const T& each : {a, turned}) {
        const auto [values, vectors] = linalg::eig(each);
        CHECK(values.dtype() == complex_type(type));
        check_close(matmul(each.astype(values.dtype()), vectors), vectors * values, size);
        check_close(sum(square(abs(vectors)), 0), T::ones({size}, type), size);
        check_close(sum(linalg::eigvals(each)).reshape({1}), trace(each).astype(values.dtype()).reshape({1}), 8 * size);
      }
    }
  }
}

TEST_CASE("eigenvectors of matrices that are partly of the form that reductions bring about, and of few diagonals") {
  using T = Tensor<Eager>;
  for (const DType type : types) {
    for (const std::int64_t size : sizes) {
      const T a = random({size, size}, type, static_cast<std::uint64_t>(size + 2000));
      const T hessenberg = triu(a, -1), half = expand_dims(T::arange(size) < size / 2, 0);
      const T cases[] = {triu(tril(a)),               // diagonal
                         triu(a),                     // triangular
                         triu(tril(a, 3)),            // triangular, of four diagonals
                         triu(tril(a, 1), -1),        // of three
                         hessenberg,                  // with pairs
                         where(half, hessenberg, a),  // reduced up to the middle
                         where(half, a, hessenberg)};
      for (std::size_t k = 0; k < std::size(cases); ++k) {
        CAPTURE(k);
        const auto [values, vectors] = linalg::eig(cases[k]);
        check_close(matmul(cases[k].astype(values.dtype()), vectors), vectors * values, size);
        check_close(sum(square(abs(vectors)), 0), T::ones({size}, type), size);
        if (k < 3) CHECK(largest(T(sort(real(values)) - sort(linalg::diagonal(a)))) <= tolerance(type, size));
      }
    }
  }
}

TEST_CASE("eigenvalues of matrices that are not diagonalisable, scaled badly or not finite") {
  using T = Tensor<Eager>;
  const auto all_at = [](const T& found, std::complex<double> value, double close) {
    return bool(all(abs(found.astype(DType::c128) - value) < close));
  };
  CHECK(all_at(linalg::eigvals(T{{2.0, 1.0, 0.0}, {0.0, 2.0, 1.0}, {0.0, 0.0, 2.0}}), 2, 1e-12));
  CHECK(all_at(linalg::eigvals(T::zeros({4, 4})), 0, 1e-12));
  CHECK(all_at(linalg::eigvals(T::eye(5) * 3), 3, 1e-12));
  // The companion matrix of x^3 - 1, on which shifts alone would go round.
  const T cycle = linalg::eigvals(T{{0.0, 0.0, 1.0}, {1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}});
  CHECK(all_at(cycle * cycle * cycle, 1, 1e-5));
  // Matrices that reflections do not change: a circular shift, whose eigenvalues are the roots of one, and a triangle.
  const T shift = roll(T::eye(40, 40, 0, DType::f64), 1, 0), roots = linalg::eigvals(shift);
  CHECK(all_at(power(roots, 40), 1, 1e-10));
  CHECK(std::abs(sum(roots).item<std::complex<double>>()) < 1e-12);
  const T triangle = triu(random({30, 30}, DType::f64, 5));
  CHECK(largest(T(sort(real(linalg::eigvals(triangle))) - sort(linalg::diagonal(triangle)))) < 1e-12);
  const auto [values, vectors] = linalg::eig(T::from(std::vector<double>{1e200, 1e100, 1e300, -1e200}, {2, 2}));
  CHECK(bool(all(abs(abs(values) / 1.4142135623730951e200 - 1) < 1e-12)));
  CHECK(bool(all(isfinite(vectors))));
  // Balanced, the tiny numbers would have factors that f32 does not hold.
  CHECK(bool(all(isfinite(linalg::eig(T{{1e-42, 1.0}, {0.0, 1e-42}}.astype(DType::f32)).vectors))));
  CHECK(bool(all(isnan(linalg::eig(T{{1.0, NAN}, {0.0, 1.0}}).vectors))));
  CHECK(bool(all(isnan(linalg::eigvals(T{{INFINITY, 1.0}, {0.0, 1.0}})))));
  CHECK(linalg::eig(T::zeros({0, 0})).vectors.shape() == Shape{0, 0});
  CHECK(linalg::eigvals(T::zeros({0, 3, 3})).shape() == Shape{0, 3});
  CHECK_THROWS_WITH_AS((void)linalg::eig(T::zeros({2, 3})), "eig: matrices must be square, not of shape (2,3)",
                       ShapeError);
}

TEST_CASE("singular, graded, sparse and badly scaled matrices are factorised") {
  using T = Tensor<Eager>;
  const std::int64_t n = 150;
  const T line = T::arange(0, n, 1, DType::f64), ones = T::ones({n, n}, DType::f64);
  const T noise = random({n, n}, DType::f64, 3), i = expand_dims(line, 1), j = expand_dims(line, 0);
  const T cases[] = {// Only some of their rows and columns need turning.
                     where(equal(floor_divide(i, 3), floor_divide(j, 3)), noise, 0),
                     where(equal(remainder(7 * i + 13 * j, 31), 0), noise, 0),
                     where(equal(remainder(i, 19), 0), noise, diag(line)),
                     T::zeros({n, n}, DType::f64),
                     identity_like(ones),
                     ones,
                     diag(exp(-line)),
                     diag(exp(line - 40)),
                     1 / (expand_dims(line, 0) + expand_dims(line, 1) + 1),  // Hilbert's
                     tril(ones) - 2 * identity_like(ones),
                     1e180 * (ones + diag(line)),
                     1e-180 * (ones + diag(line)),
                     T::eye(n, n, 1, DType::f64)};
  for (const T& a : cases) {
    const auto [u, s, vh] = linalg::svd(a);
    const double size = std::max(largest(a), 1e-300);
    check_close(matmul(u * (s / size), vh), a / size, n);
    check_close(matmul(u.T(), u), identity_like(ones), n);
    check_close(matmul(vh, vh.T()), identity_like(ones), n);
    const T symmetric = (a + a.T()) / 2;
    const auto [values, vectors] = linalg::eigh(symmetric);
    check_close(matmul(vectors * (values / size), vectors.T()), symmetric / size, n);
    check_close(matmul(vectors.T(), vectors), identity_like(ones), n);
    const auto [q, r] = linalg::qr(a);
    check_close(matmul(q, r / size), a / size, n);
  }
}

BOTH_MODES("each matrix of a stack is taken apart as if it were alone") {
  using T = Tensor<Mode>;
  const T stacked = T::normal({30, 50, 50}, {.dtype = DType::f64, .key = Key{3, 1}});
  const auto same = [&](const auto& f) {
    const T together = f(stacked);
    for (const std::int64_t i : {0, 14, 29}) CHECK(array_equal(together(i), f(stacked(i))));
  };
  same([](const T& x) { return linalg::inv(x); });
  same([](const T& x) { return linalg::solve(x, x(ellipsis, slice({}, 2))); });
  same([](const T& x) { return linalg::qr(x).q; });
  same([](const T& x) { return linalg::svd(x).u; });
  same([](const T& x) { return linalg::eigh(x).vectors; });
  same([](const T& x) { return linalg::cholesky(matmul(x, matrix_transpose(x))); });
  same([](const T& x) { return linalg::det(x); });
}

BOTH_MODES("orthogonal factors are orthogonal where columns are multiples of each other") {
  using T = Tensor<Mode>;
  // What is left of a column shrinks from one to the next, down to the smallest numbers there are.
  for (const DType type : {DType::f32, DType::f64, DType::c64}) {
    for (const std::int64_t size : {4, 8, 16, 17, 24, 32, 64}) {
      for (const double scale : {1.0, 0.3, 1e-8}) {
        CAPTURE(type);
        CAPTURE(size);
        CAPTURE(scale);
        for (const linalg::Columns columns : {linalg::Columns::reduced, linalg::Columns::complete}) {
          const T a = T::full({size + 3, size}, scale, type);
          const auto [q, r] = linalg::qr(a, columns);
          const T products = matmul(conj(swapaxes(q, -1, -2)), q);
          CHECK(allclose(products, T::eye(q.shape()[1], q.shape()[1], 0, type), 0, tolerance(type, size)));
          CHECK(allclose(matmul(q, r), a, 0, scale * tolerance(type, size)));
        }
      }
    }
  }
}

BOTH_MODES("stacks broadcast, and vectors are solved for") {
  using T = Tensor<Mode>;
  const T a = T{{4.0, 2.0}, {2.0, 5.0}}, stack = linalg::kron(T::ones({3, 1, 1}), a);
  CHECK(numbers(linalg::solve(a, T{8.0, 12.0})) == Numbers{1, 2});
  CHECK(linalg::solve(stack, T{8.0, 12.0}).shape() == Shape{3, 2});
  CHECK(linalg::solve(stack, T::ones({2, 4})).shape() == Shape{3, 2, 4});
  CHECK(linalg::solve(a, T::ones({5, 2, 1})).shape() == Shape{5, 2, 1});
  CHECK(numbers(linalg::det(stack)) == Numbers{16, 16, 16});
  CHECK(numbers(linalg::cholesky(a)) == Numbers{2, 0, 1, 2});
  CHECK(numbers(linalg::cholesky(a, true)) == Numbers{2, 1, 0, 2});
  CHECK(linalg::eigh(stack).vectors.shape() == Shape{3, 2, 2});
  CHECK(linalg::inv(T{{2, 1}, {1, 1}}).dtype() == DType::f32);
  CHECK(linalg::solve(a, T{8.0, 12.0}.astype(DType::f64)).dtype() == DType::f64);
}

BOTH_MODES("empty matrices have what algebra says they have") {
  using T = Tensor<Mode>;
  const T none = T::zeros({0, 0}), no_stack = T::zeros({0, 2, 2});
  CHECK(numbers(linalg::det(none)) == Numbers{1});
  CHECK(numbers(linalg::slogdet(none).logabsdet) == Numbers{0});
  CHECK(linalg::inv(none).shape() == Shape{0, 0});
  CHECK(linalg::solve(none, T::zeros({0, 3})).shape() == Shape{0, 3});
  CHECK(linalg::inv(no_stack).shape() == Shape{0, 2, 2});
  CHECK(linalg::svd(no_stack).s.shape() == Shape{0, 2});
  CHECK(linalg::eigh(none).values.shape() == Shape{0});
  CHECK(numbers(linalg::svd(T::zeros({2, 0})).u) == Numbers{1, 0, 0, 1});
  CHECK(numbers(linalg::qr(T::zeros({2, 0}), linalg::Columns::complete).q) == Numbers{1, 0, 0, 1});
  CHECK(numbers(linalg::matrix_rank(T::zeros({2, 0}))) == Numbers{0});
  CHECK(linalg::pinv(T::zeros({2, 0})).shape() == Shape{0, 2});
  CHECK(numbers(linalg::expm(T::zeros({1, 1}))) == Numbers{1});
}

TEST_CASE("eager mode names the matrix that is singular or not positive definite") {
  using T = Tensor<Eager>;
  const T singular = T{{1.0, 2.0}, {2.0, 4.0}};
  const T stacked = tyto::stack<Eager>({T::eye(2), singular});
  CHECK_THROWS_WITH_AS(linalg::inv(singular), "inv: the matrix is singular: it has no pivot in column 2", ValueError);
  CHECK_THROWS_WITH_AS(linalg::solve(stacked, T{1.0, 2.0}),
                       "solve: matrix 1 of the stack of shape (2,) is singular: it has no pivot in column 2",
                       ValueError);
  CHECK_THROWS_WITH_AS(linalg::cholesky(T{{1.0, 2.0}, {2.0, 1.0}}),
                       "cholesky: the matrix is not positive definite: this fails at the leading minor of order 2",
                       ValueError);
  CHECK_THROWS_AS(linalg::cholesky(T{{NAN}}), ValueError);
  CHECK_THROWS_AS(linalg::matrix_power(singular, -1), ValueError);
  const auto [inverse, info] = linalg::inv_ex(stacked);
  CHECK(numbers(info) == Numbers{0, 2});
  CHECK(numbers(inverse(0)) == Numbers{1, 0, 0, 1});
  CHECK(std::isnan(inverse(1, 0, 0).item<float>()));
}

TEST_CASE("the first column without a pivot is named, however many more there are") {
  using T = Tensor<Eager>;
  for (const std::int64_t size : {5, 40, 130}) {
    CAPTURE(size);
    // A diagonal with zeros at 1-based places 3, size - 1 and size.
    std::vector<double> diagonal(static_cast<std::size_t>(size), 2.0);
    diagonal[2] = diagonal[diagonal.size() - 2] = diagonal.back() = 0;
    CHECK_THROWS_WITH_AS(linalg::inv(diag(T::from(diagonal, {size}))),
                         "inv: the matrix is singular: it has no pivot in column 3", ValueError);
  }
}

BOTH_MODES("pivots below the smallest normal number divide like others") {
  // The factor is 2^-1060 / 2^-1030; the reciprocal of the pivot alone is out of range.
  using T = Tensor<Mode>;
  const double pivot = std::ldexp(1.0, -1030), below = std::ldexp(1.0, -1060);
  const auto factors = linalg::lu(T::from(Numbers{pivot, 1, below, 1}, {2, 2}));
  CHECK(numbers(factors.l) == Numbers{1, 0, std::ldexp(1.0, -30), 1});
  CHECK(numbers(factors.u) == Numbers{pivot, 1, 0, 1 - std::ldexp(1.0, -30)});
}

TEST_CASE("in a graph failed factorisations are NaN, and `info` names the matrix") {
  using T = Tensor<Lazy>;
  const T stacked = tyto::stack<Lazy>({T::eye(2), T{{1.0, 2.0}, {2.0, 4.0}}});
  const T inverse = linalg::inv(stacked);
  CHECK(numbers(inverse(0)) == Numbers{1, 0, 0, 1});
  CHECK(bool(all(isnan(inverse(1)))));
  CHECK(numbers(linalg::solve_ex(stacked, T{1.0, 2.0}).info) == Numbers{0, 2});
  CHECK(numbers(linalg::cholesky_ex(-stacked).info) == Numbers{1, 1});
  CHECK(bool(all(isnan(linalg::cholesky(-stacked)))));
}

BOTH_MODES("what is not finite makes its own matrix NaN, and no other") {
  using T = Tensor<Mode>;
  const T x = tyto::stack<Mode>({T::eye(3), T::full({3, 3}, NAN), T::full({3, 3}, INFINITY)});
  for (const T& found : {linalg::svdvals(x), linalg::eigvalsh(x), linalg::svd(x).u, linalg::eigh(x).vectors,
                         linalg::pinv(x), linalg::expm(x)}) {
    CHECK(bool(all(isfinite(found(0)))));
    CHECK(bool(all(isnan(found(slice(1, {}))))));
  }
}

BOTH_MODES("a permutation that is none solves nothing") {
  using T = Tensor<Mode>;
  auto factor = linalg::lu_factor(T{{4.0, 2.0}, {2.0, 5.0}});
  CHECK(numbers(linalg::lu_solve(factor, T{8.0, 12.0})) == Numbers{1, 2});
  for (const T& wrong : {T{0, 2}, T{-1, 0}, T{1, 1}}) {
    factor.permutation = wrong;
    CHECK(bool(all(isnan(linalg::lu_solve(factor, T{8.0, 12.0})))));
    CHECK(bool(all(isnan(linalg::lu_solve(factor, T{8.0, 12.0}, true)))));
  }
  factor.permutation = T{0, 1, 2};
  CHECK_THROWS_AS(linalg::lu_solve(factor, T{8.0, 12.0}), ShapeError);
}

BOTH_MODES("singular matrices have determinants, ranks and pseudo-inverses") {
  using T = Tensor<Mode>;
  const T singular = T{{1.0, 2.0}, {2.0, 4.0}};
  CHECK(numbers(linalg::det(singular)) == Numbers{0});
  CHECK(numbers(linalg::slogdet(singular).sign) == Numbers{0});
  CHECK(numbers(linalg::slogdet(singular).logabsdet) == Numbers{-INFINITY});
  CHECK(numbers(linalg::matrix_rank(singular)) == Numbers{1});
  CHECK(linalg::matrix_rank(singular).dtype() == DType::i64);
  CHECK(numbers(linalg::cond(singular, 1)) == Numbers{INFINITY});
  CHECK(largest(matmul(matmul(singular, linalg::pinv(singular)), singular) - singular) < 1e-6);
  // The shortest of all solutions.
  CHECK(largest(linalg::lstsq(singular, T{1.0, 2.0}).solution - T{0.2, 0.4}) < 1e-6);
}

BOTH_MODES("shapes and types that do not fit are refused by name") {
  using T = Tensor<Mode>;
  const T square = T::eye(2), oblong = T::ones({2, 3}), line = T::ones({3});
  CHECK_THROWS_WITH_AS(linalg::inv(oblong), "inv: matrices must be square, not of shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::det(line), "det: matrices need two axes or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::slogdet(oblong), "slogdet: matrices must be square, not of shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::cholesky(oblong), "cholesky: matrices must be square, not of shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::eigh(oblong), "eigh: matrices must be square, not of shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::eigvalsh(line), "eigvalsh: matrices need two axes or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::svd(line), "svd: matrices need two axes or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::svdvals(line), "svdvals: matrices need two axes or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::qr(line), "qr: matrices need two axes or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::pinv(line), "pinv: matrices need two axes or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::expm(oblong), "expm: matrices must be square, not of shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::lu(line), "lu: lu_factor: matrices need two axes or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::matrix_power(oblong, 2), "matrix_power: matrices must be square, not of shape (2,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::solve(square, line),
                       "solve: a right-hand side of shape (3,1) does not have the rows of (2,2)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::solve(square, T(1.0)), "solve: a right-hand side needs an axis, but it is a number",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::solve(T::ones({2, 2, 2}), T::ones({3, 2, 1})),
                       "solve: stacks of shapes (2,2,2) and (3,2,1) do not go together", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::triangular_solve(square, line),
                       "triangular_solve: a right-hand side of shape (3,1) does not have the rows of (2,2)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::lstsq(square, line),
                       "lstsq: a right-hand side of shape (3,) does not have the rows of (2,2)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::inv(square.astype(DType::f16)),
                       "inv: matrices of f16 are not factorised; cast them to f32 or f64 before", TypeError);
  CHECK_THROWS_WITH_AS(linalg::solve(square.astype(DType::bf16), square.astype(DType::bf16)),
                       "solve: matrices of bf16 are not factorised; cast them to f32 or f64 before", TypeError);
}

BOTH_MODES("norms and products that cannot be say why") {
  using T = Tensor<Mode>;
  const T square = T::eye(2), line = T::ones({3}), cube = T::ones({2, 2, 2});
  CHECK_THROWS_WITH_AS(
      linalg::norm(square, 3),
      "norm: a matrix has no norm of order 3; there are 1, 2, infinity, their negatives, frobenius and "
      "nuclear",
      ValueError);
  CHECK_THROWS_WITH_AS(linalg::norm(line, linalg::MatrixNorm::nuclear),
                       "norm: vectors have norms of a number, not the frobenius or nuclear one", ValueError);
  CHECK_THROWS_WITH_AS(linalg::norm(cube, 1),
                       "norm: with an order and without axes a vector or a matrix is needed, not shape (2,2,2)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::norm(cube, 1, {0, 1, 2}), "norm: 3 axes are named; vectors have one, matrices two",
                       ValueError);
  CHECK_THROWS_WITH_AS(linalg::norm(cube, 1, {0, -3}), "norm: both axes are axis 0", ValueError);
  CHECK_THROWS_WITH_AS(linalg::vector_norm(line, NAN), "vector_norm: there is no norm of order NaN", ValueError);
  CHECK_THROWS_WITH_AS(linalg::matrix_norm(line), "matrix_norm: matrices need two axes or more, not shape (3,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::cond(T::ones({2, 3}), 1), "cond: matrices must be square, not of shape (2,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::cross(square, square), "cross: axis -1 must have length 3: (2,2) and (2,2)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::vecdot(square, line), "vecdot: axis -1 differs in length: (2,2) and (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::vander(square), "vander: a vector is needed, not shape (2,2)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::vander(line, -1), "vander: -1 columns are fewer than none", ValueError);
  CHECK_THROWS_WITH_AS(linalg::cov(cube), "cov: a vector or a matrix is needed, not shape (2,2,2)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::corrcoef(cube), "corrcoef: a vector or a matrix is needed, not shape (2,2,2)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::trace(line), "trace: matrices need two axes or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::diagonal(line), "diagonal: matrices need two axes or more, not shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::multi_dot(std::vector<T>{}), "multi_dot: there is no matrix to multiply", ValueError);
  CHECK_THROWS_WITH_AS(linalg::multi_dot(std::vector<T>{square, cube}),
                       "multi_dot: factor 1 of shape (2,2,2) is no matrix or vector", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::multi_dot(std::vector<T>{square, line}),
                       "multi_dot: factors 0 and 1 of shapes (2,2) and (3,) do not fit each other", ShapeError);
}

BOTH_MODES("factors that are not determined have no gradient") {
  using T = Tensor<Mode>;
  const T tall = T{{1.0, 2.0}, {3.0, 4.0}, {5.0, 7.0}};
  CHECK_THROWS_WITH_AS(grad([](const T& x) { return sum(linalg::qr(x, linalg::Columns::complete).q); })(tall),
                       "qr: complete factors of matrices of shape (3,2) have no gradient, since the last columns of q "
                       "are not determined; take reduced ones",
                       ValueError);
  CHECK_THROWS_WITH_AS(grad([](const T& x) { return sum(linalg::svd(x).u); })(tall),
                       "svd: complete factors of matrices of shape (3,2) have no gradient, since the last vectors are "
                       "not determined; take reduced ones",
                       ValueError);
  const T by_values = grad([](const T& x) { return sum(linalg::svd(x).s); })(tall);
  CHECK(largest(by_values - grad([](const T& x) { return sum(linalg::svdvals(x)); })(tall)) < 1e-5);
}

BOTH_MODES("gradients at equal eigenvalues are finite by the values, not by the vectors") {
  using T = Tensor<Mode>;
  const T one = T::eye(3);
  CHECK(numbers(grad([](const T& x) { return sum(linalg::eigvalsh(x)); })(one)) == Numbers{1, 0, 0, 0, 1, 0, 0, 0, 1});
  const T by_vectors = grad([](const T& x) { return sum(square(linalg::eigh(x).vectors)(0)); })(one);
  CHECK(bool(any(logical_not(isfinite(by_vectors)))));
}

BOTH_MODES("the order of a chain of products does not change its value") {
  using T = Tensor<Mode>;
  const T a = T::arange(0, 6, 1, DType::f64).reshape({2, 3}), b = T::arange(0, 12, 1, DType::f64).reshape({3, 4});
  const T c = T::arange(0, 4, 1, DType::f64);
  CHECK(array_equal(linalg::multi_dot(std::vector<T>{a, b, c}), matmul(matmul(a, b), c)));
  CHECK(array_equal(linalg::multi_dot(std::vector<T>{a}), a));
  CHECK(array_equal(linalg::matrix_power(T{{1, 1}, {1, 0}}, 10), T{{89, 55}, {55, 34}}));
}

BOTH_MODES("matrices of many rows and few columns are factorised in the room that they state") {
  using T = tyto::Tensor<Mode>;
  for (const std::int64_t columns : {1, 2, 7, 9}) {
    CAPTURE(columns);
    const T a = sin(T::arange(1001 * columns).astype(DType::f64) * 1.7).reshape({1001, columns});
    const auto [p, l, u] = linalg::lu(a);
    CHECK(max(abs(take(a, argmax(p, 0), 0) - matmul(l, u))).template item<double>() < 1e-13);
    CHECK(max(abs(l)).template item<double>() == 1);
  }
}

BOTH_MODES("singular values beside complete factors have derivatives of second order") {
  using T = Tensor<Mode>;
  // The sum of fourth powers of singular values is that of the squares of a^T a.
  const auto by_values = [](const T& a) { return sum(power(linalg::svd(a, linalg::Columns::complete).s, 4.0)); };
  const auto by_products = [](const T& a) { return sum(square(matmul(matrix_transpose(a), a))); };
  for (const Shape& shape : {Shape{3, 2}, Shape{2, 3}, Shape{3, 3}, Shape{4, 1}}) {
    CAPTURE(shape);
    const T a = T::normal(shape, {.dtype = DType::f64, .key = Key{5, 2}});
    CHECK(allclose(grad(by_values)(a), 4.0 * matmul(a, matmul(matrix_transpose(a), a)), 1e-10, 1e-10));
    CHECK(allclose(hessian(by_values)(a), hessian(by_products)(a), 1e-9, 1e-9));
  }
}
