// SPDX-License-Identifier: MIT
// Schur, Hessenberg and LDL forms, and pairs of matrices, checked by their definitions.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/ops/matrix_testing.hpp"
#include "tests/support/both_modes.hpp"

namespace matrix_functions_test {

namespace {

/// Matrices with whatever structure makes factorisations stumble.
template <class T>
std::vector<std::pair<std::string, T>> structured(DType type) {
  const DType part = tyto::real_type(type);
  const auto drawn = [&](const Shape& shape, std::uint64_t seed) {
    const T re = T::normal(shape, {.dtype = part, .key = tyto::Key{seed, 0}});
    return tyto::is_complex(type) ? complex(re, T::normal(shape, {.dtype = part, .key = tyto::Key{seed, 1}})) : re;
  };
  const auto plain = [&](const T& x) { return x.astype(type); };
  std::vector<std::pair<std::string, T>> list = {
      {"empty", T::zeros({0, 0}, type)},
      {"one", plain(T{{3.0}})},
      {"zeros", T::zeros({4, 4}, type)},
      {"ones", T::ones({5, 5}, type)},
      {"identity", identity<T>(4, type)},
      {"rotation", plain(T{{0.0, -1.0, 0.0}, {1.0, 0.0, 0.0}, {0.0, 0.0, 1.0}})},
      {"equal pairs",
       plain(T{{0.0, -1.0, 1.0, 0.0}, {1.0, 0.0, 0.0, 1.0}, {0.0, 0.0, 0.0, -1.0}, {0.0, 0.0, 1.0, 0.0}})},
      {"jordan", plain(T{{2.0, 1.0, 0.0}, {0.0, 2.0, 1.0}, {0.0, 0.0, 2.0}})},
      {"nilpotent", plain(T{{0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}, {0.0, 0.0, 0.0}})},
      {"exchange", plain(T{{0.0, 1.0}, {1.0, 0.0}})},
      {"cycle", plain(T{{0.0, 0.0, 0.0, 1.0}, {1.0, 0.0, 0.0, 0.0}, {0.0, 1.0, 0.0, 0.0}, {0.0, 0.0, 1.0, 0.0}})},
      {"low rank", matmul(drawn({6, 2}, 1), drawn({2, 6}, 2))},
      {"huge", drawn({4, 4}, 3) * 1e12},
      {"tiny", drawn({4, 4}, 4) * 1e-12},
      {"drawn", drawn({9, 9}, 5)},
      {"subnormal", drawn({3, 3}, 8) * (type == DType::f64 || type == DType::c128 ? 1e-300 : 1e-30)},
      {"even", drawn({20, 20}, 6)},
      {"stack", drawn({2, 3, 6, 6}, 7)},
      {"no stack", T::zeros({0, 3, 3}, type)}};
  return list;
}

double rounding(DType type) { return tyto::real_type(type) == DType::f64 ? 2e-14 : 2e-6; }

template <class T>
double scale_of(const T& x) {
  return std::max(largest(x), std::numeric_limits<double>::min()) * static_cast<double>(x.shape().back() + 4);
}

/// The elements below the diagonal number -k.
template <class T>
double below(const T& x, std::int64_t k) {
  return largest(tril(x, -k));
}

template <class T>
void check_unitary(const T& q) {
  CHECK(largest(matmul(adjoint(q), q) - identity<T>(q.shape().back(), q.dtype())) <
        rounding(q.dtype()) * static_cast<double>(q.shape().back() + 4));
}

}  // namespace

BOTH_MODES("Schur and Hessenberg forms give structured matrices back") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  for (const DType type : types) {
    for (const auto& [name, a] : structured<T>(type)) {
      CAPTURE(name);
      CAPTURE(type);
      const double most = rounding(type) * scale_of(a);
      const auto [t, z] = linalg::schur(a);
      CHECK(t.dtype() == type);
      check_unitary(z);
      CHECK(largest(matmul(matmul(z, t), adjoint(z)) - a) <= most);
      CHECK(below(t, tyto::is_complex(type) ? 1 : 2) == 0);
      const auto [h, q] = linalg::hess(a);
      check_unitary(q);
      CHECK(largest(matmul(matmul(q, h), adjoint(q)) - a) <= most);
      CHECK(below(h, 2) == 0);
    }
  }
}

BOTH_MODES("generalised Schur forms give pairs of structured matrices back") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  for (const DType type : types) {
    for (const auto& [name, a] : structured<T>(type)) {
      for (const int second : {0, 1, 2, 3}) {
        const std::int64_t n = a.shape().back();
        const T one = identity<T>(n, type);
        const T b = second == 0 ? one : second == 1 ? a : second == 2 ? T::zeros(a.shape(), type) : one - tril(a);
        CAPTURE(name);
        CAPTURE(type);
        CAPTURE(second);
        const T wide = broadcast_to(b, a.shape());
        const auto [s, t, q, z] = linalg::qz(a, wide);
        check_unitary(q);
        check_unitary(z);
        CHECK(largest(matmul(matmul(q, s), adjoint(z)) - a) <= 4 * rounding(type) * scale_of(a));
        CHECK(largest(matmul(matmul(q, t), adjoint(z)) - b) <= 4 * rounding(type) * scale_of(wide));
        CHECK(below(s, tyto::is_complex(type) ? 1 : 2) == 0);
        CHECK(below(t, 1) == 0);
      }
    }
  }
}

BOTH_MODES("generalised Schur forms of tiny elements beside a singular matrix end") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  const T a = tyto::diag(T::from(std::vector<double>{1e-310, 1e-310, 1e-310, 1.0}, {4}));
  const T last = tyto::diag(T::from(std::vector<double>{0, 1, 1, 1}, {4}));
  for (const T& b : {T::zeros({4, 4}, DType::f64), last}) {
    const auto [s, t, q, z] = linalg::qz(a, b);
    CHECK(tyto::max(tyto::abs(tyto::matmul(tyto::matmul(q, s), z.T()) - a)).template item<double>() <= 1e-14);
    CHECK(tyto::max(tyto::abs(tyto::matmul(tyto::matmul(q, t), z.T()) - b)).template item<double>() <= 1e-14);
  }
}

BOTH_MODES("ordered forms begin with the eigenvalues that were selected") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  for (const DType type : types) {
    for (const auto& [name, a] : structured<T>(type)) {
      if (name == "empty" || a.ndim() > 2) continue;
      CAPTURE(name);
      CAPTURE(type);
      const std::int64_t n = a.shape().back();
      const linalg::Schur<Mode> form = linalg::schur(a);
      const T diagonal = linalg::diagonal(form.t);
      const T select = real(diagonal) < mean(real(diagonal));
      const auto [t, z] = linalg::ordschur(form, select);
      check_unitary(z);
      CHECK(largest(matmul(matmul(z, t), adjoint(z)) - a) <= 4 * rounding(type) * scale_of(a));
      CHECK(below(t, tyto::is_complex(type) ? 1 : 2) == 0);
      // Each one that was selected stands before each that was not.
      const auto chosen = select.template to_vector<bool>();
      std::int64_t count = 0;
      double most = -1e300, least = 1e300;
      const auto before = real(diagonal).astype(DType::f64).template to_vector<double>();
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        count += chosen[i];
        (chosen[i] ? most : least) = chosen[i] ? std::max(most, before[i]) : std::min(least, before[i]);
      }
      const auto after = real(linalg::diagonal(t)).astype(DType::f64).template to_vector<double>();
      const double slack =
          (name == "jordan" || name == "nilpotent" || name == "low rank" ? 1e-2 : 50 * rounding(type)) * scale_of(a);
      for (std::size_t i = 0; i < after.size(); ++i) {
        if (static_cast<std::int64_t>(i) < count) {
          CHECK(after[i] <= most + slack);
        } else {
          CHECK(after[i] >= least - slack);
        }
      }
      const T b = identity<T>(n, type) + 0.25 * triu(T::ones({n, n}, type), 1);
      const linalg::QZ<Mode> pair = linalg::qz(a, b);
      const T ratio = real(linalg::diagonal(pair.s) / linalg::diagonal(pair.t));
      const T smaller = ratio < mean(ratio);
      const auto [s, u, q, y] = linalg::ordqz(pair, smaller);
      check_unitary(q);
      check_unitary(y);
      CHECK(largest(matmul(matmul(q, s), adjoint(y)) - a) <= 8 * rounding(type) * scale_of(a));
      CHECK(largest(matmul(matmul(q, u), adjoint(y)) - b) <= 8 * rounding(type) * scale_of(b));
      CHECK(below(s, tyto::is_complex(type) ? 1 : 2) == 0);
      CHECK(below(u, 1) == 0);
    }
  }
}

BOTH_MODES("a selection of one row of a pair moves both, and values of ordschur are known") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  const T a{{1.0, 2.0, 3.0, 4.0}, {0.0, 2.0, -5.0, 6.0}, {0.0, 3.0, 2.0, 7.0}, {0.0, 0.0, 0.0, 8.0}};
  const T wide = a.astype(DType::f64);
  const auto [t, z] = linalg::ordschur(linalg::Schur<Mode>{wide, identity<T>(4, DType::f64)}, T{0, 0, 1, 1});
  CHECK(largest(matmul(matmul(z, t), adjoint(z)) - wide) < 1e-13);
  const auto d = linalg::diagonal(t).template to_vector<double>();
  CHECK(d[0] == doctest::Approx(2));
  CHECK(d[1] == doctest::Approx(2));
  CHECK(d[2] == doctest::Approx(8));
  CHECK(d[3] == doctest::Approx(1));
  CHECK(t(0, 1).template item<double>() * t(1, 0).template item<double>() == doctest::Approx(-15));
}

BOTH_MODES("LDL factors give Hermitian and symmetric matrices back") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  for (const DType type : types) {
    for (const auto& [name, drawn] : structured<T>(type)) {
      for (const bool hermitian : {true, false}) {
        CAPTURE(name);
        CAPTURE(type);
        CAPTURE(hermitian);
        const T a = hermitian ? drawn + adjoint(drawn) : drawn + matrix_transpose(drawn);
        const auto [l, d, permutation] = linalg::ldl(tril(a), hermitian);
        const T back = hermitian ? adjoint(l) : matrix_transpose(l);
        CHECK(largest(matmul(matmul(l, d), back) - a) <= 8 * rounding(type) * scale_of(a));
        CHECK(below(d, 2) == 0);
        CHECK(permutation.dtype() == DType::i64);
        CHECK(permutation.shape().back() == a.shape().back());
        if (a.ndim() != 2 || a.size() == 0) continue;
        const T triangle = take(l, permutation, 0);
        CHECK(largest(triu(triangle, 1)) == 0);
        CHECK(largest(linalg::diagonal(triangle) - 1) == 0);
        CHECK(largest(l) < 3);  // growth that the pivots bound
      }
    }
  }
}

BOTH_MODES("generalised singular values give both matrices back") {
  using T = tyto::Tensor<Mode>;
  for (const DType type : types) {
    const DType part = tyto::real_type(type);
    const auto drawn = [&](const Shape& shape, std::uint64_t seed) {
      const T re = T::normal(shape, {.dtype = part, .key = tyto::Key{seed, 0}});
      return tyto::is_complex(type) ? complex(re, T::normal(shape, {.dtype = part, .key = tyto::Key{seed, 1}})) : re;
    };
    const std::pair<T, T> list[] = {
        {drawn({5, 3}, 1), drawn({4, 3}, 2)},       {drawn({2, 4}, 3), drawn({3, 4}, 4)},
        {drawn({3, 3}, 5), identity<T>(3, type)},   {T::zeros({3, 3}, type), drawn({3, 3}, 6)},
        {drawn({4, 3}, 7), T::zeros({1, 3}, type)}, {drawn({1, 1}, 8), drawn({1, 1}, 9)},
        {drawn({2, 4, 3}, 10), drawn({5, 3}, 11)}};
    for (const auto& [a, b] : list) {
      CAPTURE(a.shape());
      CAPTURE(b.shape());
      CAPTURE(type);
      const auto [u, v, c, s, x] = linalg::gsvd(a, b);
      const double most = 20 * rounding(type) * (scale_of(a) + scale_of(b));
      check_unitary(u);
      check_unitary(v);
      CHECK(largest(matmul(matmul(u, c.astype(type)), x) - a) < most);
      CHECK(largest(matmul(matmul(v, s.astype(type)), x) - b) < most);
      const T squares = sum(c * c, -2) + sum(s * s, -2);
      CHECK(largest(squares - 1) < 20 * rounding(type));
    }
  }
}

BOTH_MODES("generalised eigenvectors and null spaces are what their definitions say") {
  using T = tyto::Tensor<Mode>;
  for (const DType type : types) {
    const T a = structured<T>(type)[14].second, other = matmul(a, adjoint(a)) + 3.0 * identity<T>(9, type);
    const double most = 100 * rounding(type) * scale_of(other);
    const T symmetric = a + adjoint(a);
    const auto [w, v] = linalg::eigh(tril(symmetric), tril(other));
    CHECK(largest(matmul(symmetric, v) - matmul(other, v) * expand_dims(w, -2)) < most);
    CHECK(largest(matmul(adjoint(v), matmul(other, v)) - identity<T>(9, type)) < most);
    const auto [values, vectors] = linalg::eig(a, other);
    const T left = matmul(a.astype(values.dtype()), vectors), right = matmul(other.astype(values.dtype()), vectors);
    CHECK(largest(left - right * expand_dims(values, -2)) < most);
    const T wide = matmul(a.get({tyto::Index(0)}).reshape({1, 9}), identity<T>(9, type));
    const T n = linalg::null_space(wide);
    CHECK(n.shape() == Shape{9, 8});
    CHECK(largest(matmul(wide, n)) < most);
    check_unitary(n);
  }
  CHECK(linalg::null_space(identity<T>(3, DType::f64)).shape() == Shape{3, 0});
  CHECK(linalg::null_space(T::zeros({0, 2}, DType::f64)).shape() == Shape{2, 2});
  const T stack = T::ones({2, 3, 3}, DType::f64);
  CHECK(linalg::null_space(stack).shape() == Shape{2, 3, 2});
}

BOTH_MODES("eigenvalues of a singular pair are infinite or NaN") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  const auto values =
      linalg::qzvals(T{{2.0, 0.0}, {0.0, 3.0}}, T{{1.0, 0.0}, {0.0, 0.0}}).template to_vector<std::complex<float>>();
  REQUIRE(values.size() == 2);
  const std::size_t infinite = std::isinf(values[0].real()) ? 0 : 1;
  CHECK(std::isinf(values[infinite].real()));
  CHECK(values[1 - infinite] == std::complex<float>(2));
  const T undetermined = T::zeros({1, 1});
  CHECK(tyto::any(isnan(linalg::qzvals(undetermined, undetermined))).template item<bool>());
}

}  // namespace matrix_functions_test
