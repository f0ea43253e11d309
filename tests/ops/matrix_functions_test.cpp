// SPDX-License-Identifier: MIT
// Schur forms, pairs of matrices, functions of matrices and matrix equations: against SciPy, by what defines them, and
// their gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <tyto/matrix_functions.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/built_with.hpp"

namespace matrix_functions_test {

namespace {

using tyto::DType;
using tyto::Shape;
namespace linalg = tyto::linalg;
using C = std::complex<double>;

struct Given {
  std::int64_t rows, columns;
  bool is_complex;
  std::vector<C> elements;
};
struct Case {
  const char* function;
  const char* label;
  std::vector<Given> operands;
  Given result;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
#include "tests/ops/matrix_functions.inc"
  };
  return list;
}

#define NEEDS_EIGEN                                    \
  if (!tyto_test::built_with("Eigen")) {               \
    MESSAGE("this build has no Eigen: nothing to do"); \
    return;                                            \
  }

template <class T>
T tensor_of(const Given& m, DType part) {
  const T wide = T::from(m.elements, {m.rows, m.columns});
  if (m.is_complex) return wide.astype(part == DType::f64 ? DType::c128 : DType::c64);
  return real(wide).astype(part);
}

template <class T>
T adjoint(const T& x) {
  return tyto::is_complex(x.dtype()) ? conj(matrix_transpose(x)) : matrix_transpose(x);
}
template <class T>
double largest(const T& x) {
  return x.size() == 0 ? 0 : max(abs(x)).astype(DType::f64).template item<double>();
}
template <class T>
T identity(std::int64_t size, DType type) {
  return T::eye(size, size, 0, tyto::real_type(type)).astype(type);
}

template <class T>
using Call = std::function<T(const std::vector<T>&)>;

template <class T>
const std::map<std::string, Call<T>>& calls() {
  using In = const std::vector<T>&;
  static const std::map<std::string, Call<T>> table = {
      {"sqrtm", [](In x) { return linalg::sqrtm(x[0]); }},
      {"logm", [](In x) { return linalg::logm(x[0]); }},
      {"sinm", [](In x) { return linalg::sinm(x[0]); }},
      {"cosm", [](In x) { return linalg::cosm(x[0]); }},
      {"tanm", [](In x) { return linalg::tanm(x[0]); }},
      {"sinhm", [](In x) { return linalg::sinhm(x[0]); }},
      {"coshm", [](In x) { return linalg::coshm(x[0]); }},
      {"tanhm", [](In x) { return linalg::tanhm(x[0]); }},
      {"funm", [](In x) { return linalg::funm(x[0], [](const T& w) { return 1.0 / (1.0 + w * w); }); }},
      {"sylvester", [](In x) { return linalg::sylvester(x[0], x[1], x[2]); }},
      {"lyapunov", [](In x) { return linalg::lyapunov(x[0], x[1]); }},
      {"discrete_lyapunov", [](In x) { return linalg::discrete_lyapunov(x[0], x[1]); }},
      {"care", [](In x) { return linalg::care(x[0], x[1], x[2], x[3]); }},
      {"dare", [](In x) { return linalg::dare(x[0], x[1], x[2], x[3]); }},
      {"qzvals", [](In x) { return linalg::qzvals(x[0], x[1]); }},
      {"eigvals", [](In x) { return linalg::eigvals(x[0], x[1]); }},
      {"eigvalsh", [](In x) { return linalg::eigvalsh(x[0], x[1]); }},
      {"gsvdvals", [](In x) { return linalg::gsvdvals(x[0], x[1]); }},
      {"null_space", [](In x) {
         const T n = linalg::null_space(x[0]);
         return matmul(n, adjoint(n));
       }}};
  return table;
}

/// The largest distance of elements of one list from the nearest of the other not yet taken.
double apart(std::vector<C> found, const std::vector<C>& expected) {
  double most = found.size() == expected.size() ? 0 : 1e300;
  for (const C& each : expected) {
    if (found.empty()) break;
    std::size_t nearest = 0;
    for (std::size_t i = 1; i < found.size(); ++i) {
      if (std::abs(found[i] - each) < std::abs(found[nearest] - each)) nearest = i;
    }
    most = std::max(most, std::abs(found[nearest] - each));
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(nearest));
  }
  return most;
}

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

constexpr DType types[] = {DType::f32, DType::f64, DType::c64, DType::c128};

double rounding(DType type) { return tyto::real_type(type) == DType::f64 ? 2e-14 : 2e-6; }

template <class T>
double scale_of(const T& x) {
  return std::max(largest(x), std::numeric_limits<double>::min()) * static_cast<double>(x.shape().back() + 4);
}

/// What stands below the diagonal number -k.
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

BOTH_MODES("functions of matrices and matrix equations are SciPy's") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  for (const DType part : {DType::f64, DType::f32}) {
    for (const Case& each : cases()) {
      const std::string function = each.function;
      CAPTURE(function);
      CAPTURE(std::string(each.label));
      CAPTURE(part);
      std::vector<T> operands;
      for (const Given& m : each.operands) operands.push_back(tensor_of<T>(m, part));
      const bool values = function == "qzvals" || function == "eigvals";
      const T found = calls<T>().at(function)(operands);
      const T expected = tensor_of<T>(each.result, DType::f64);
      const double most = (part == DType::f64 ? 2e-10 : 2e-3) * std::max(1.0, largest(expected));
      const T wide = found.astype(DType::c128);
      if (values) {
        CHECK(apart(wide.template to_vector<C>(), each.result.elements) < most);
      } else {
        REQUIRE(element_count(found.shape()) == element_count(expected.shape()));
        CHECK(largest(wide.reshape(expected.shape()) - expected.astype(DType::c128)) < most);
      }
    }
  }
}

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

TEST_CASE("a build without Eigen names it") {
  if (tyto_test::built_with("Eigen")) return;
  using E = tyto::Tensor<tyto::Eager>;
  CHECK_THROWS_WITH_AS(linalg::sqrtm(E::eye(2)), doctest::Contains("sqrtm: Eigen computes it"), tyto::DeviceError);
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

BOTH_MODES("roots, equations and orders of large and tiny elements are those of others, scaled") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  const auto number = [](double value) { return T::full({1, 1}, value, DType::f64); };
  for (const double scale : {1e200, 1e-200}) {
    CAPTURE(scale);
    const double root = std::sqrt(scale);
    CHECK(linalg::sqrtm(number(4 * scale)).template item<double>() == doctest::Approx(2 * root).epsilon(1e-14));
    CHECK(linalg::sylvester(number(scale), number(scale), number(4 * scale)).template item<double>() ==
          doctest::Approx(2).epsilon(1e-14));
    CHECK(linalg::sylvester(number(1), number(1), number(4 * scale)).template item<double>() / scale ==
          doctest::Approx(2).epsilon(1e-14));
    const T t = T{{1.0, 2.0, 0.5}, {0.0, 3.0, -4.0}, {0.0, 1.0, 3.0}}.astype(DType::f64);
    const T select{0, 1, 1}, form = identity<T>(3, DType::f64);
    const auto plain = linalg::ordschur(linalg::Schur<Mode>{t, form}, select);
    const auto scaled = linalg::ordschur(linalg::Schur<Mode>{t * scale, form}, select);
    CHECK(largest(scaled.t / scale - plain.t) <= 1e-14);
    CHECK(largest(scaled.z - plain.z) <= 1e-14);
    CHECK(largest(tyto::matmul(tyto::matmul(plain.z, plain.t), adjoint(plain.z)) - t) <= 1e-13);
  }
}

BOTH_MODES("sines of small matrices lose no digits") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  // Of small x they are x +- x^3 / 6.
  for (const double x : {1e-3, 1e-8}) {
    const T a = T::full({1, 1}, x, DType::f64);
    CHECK(linalg::sinhm(a).template item<double>() == doctest::Approx(x + x * x * x / 6).epsilon(1e-14));
    CHECK(real(linalg::sinm(tyto::complex(a, zeros_like(a)))).template item<double>() ==
          doctest::Approx(x - x * x * x / 6).epsilon(1e-14));
    CHECK(linalg::tanhm(a).template item<double>() == doctest::Approx(x - x * x * x / 3).epsilon(1e-14));
  }
  // On both sides of where the series begins.
  for (const double x : {0.499, 0.501}) {
    CHECK(linalg::sinhm(T::full({1, 1}, x, DType::f64)).template item<double>() ==
          doctest::Approx(std::sinh(x)).epsilon(1e-14));
  }
  const auto slope = tyto::grad([](T at) { return sum(linalg::sinhm(at)); })(T::full({1, 1}, 300.0, DType::f64));
  CHECK(slope.template item<double>() == doctest::Approx(std::cosh(300.0)));
}

TEST_CASE("a large negative number has no real root") {
  NEEDS_EIGEN
  using E = tyto::Tensor<tyto::Eager>;
  CHECK_THROWS_AS(linalg::sqrtm(E::full({1, 1}, -1e200, DType::f64)), tyto::ValueError);
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

namespace {

/// Compares the gradient of a weighted sum with differences along drawn directions.
template <class T>
void check_gradient(const std::string& name, const Call<T>& f, const std::vector<T>& at, double tolerance = 2e-6) {
  CAPTURE(name);
  const auto part_of = [](const T& x) { return tyto::is_complex(x.dtype()) ? real(x) + 0.5 * imag(x) : x; };
  const auto objective = [&](const std::vector<T>& x) {
    const T y = part_of(f(x));
    return sum(y * cos(T::arange(static_cast<double>(y.size())).astype(DType::f64).reshape(y.shape())));
  };
  for (std::size_t i = 0; i < at.size(); ++i) {
    CAPTURE(i);
    const auto alone = [&](const T& x) {
      std::vector<T> in = at;
      in[i] = x;
      return objective(in);
    };
    const T slope = tyto::grad(alone)(at[i]);
    const DType type = at[i].dtype();
    const T re = T::normal(at[i].shape(), {.dtype = DType::f64, .key = tyto::Key{i, 5}});
    const T direction = tyto::is_complex(type)
                            ? complex(re, T::normal(at[i].shape(), {.dtype = DType::f64, .key = tyto::Key{i, 6}}))
                            : re;
    const double step = 1e-5;
    const double there = (alone(at[i] + step * direction) - alone(at[i] - step * direction)).template item<double>();
    const T product = tyto::is_complex(type) ? real(conj(slope) * direction) : slope * direction;
    const double expected = there / (2 * step), found = sum(product).template item<double>();
    CHECK(std::abs(found - expected) < tolerance * std::max(1.0, std::abs(expected)));
  }
}

}  // namespace

BOTH_MODES("gradients of functions of matrices and of equations are those of differences") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  const std::set<std::string> left_out = {"qzvals", "eigvals", "null_space", "gsvdvals", "eigvalsh"};
  for (const Case& each : cases()) {
    const std::string label = each.label, name = each.function;
    // Where no root, order or stability hangs by a thread.
    if (left_out.contains(name)) continue;
    const bool smooth = name == "funm" ? label == "shifted" || label == "complex"
                                       : label == "real" || label == "complex" || label == "shifted" ||
                                             label == "definite" || label == "one" || label == "hermitian" ||
                                             (label == "jordan" && name != "logm" && name != "sqrtm");
    if (!smooth) continue;
    CAPTURE(label);
    std::vector<T> operands;
    for (const Given& m : each.operands) operands.push_back(tensor_of<T>(m, DType::f64));
    check_gradient<T>(name, calls<T>().at(name), operands);
  }
}

BOTH_MODES("gradients of generalised eigenvalues and singular values are those of differences") {
  using T = tyto::Tensor<Mode>;
  const T a = T{{2.0, 1.0, 0.5}, {1.0, -3.0, 0.3}, {0.5, 0.3, 1.0}}.astype(DType::f64);
  const T b = T{{3.0, 0.4, 0.1}, {0.4, 2.0, 0.2}, {0.1, 0.2, 4.0}}.astype(DType::f64);
  check_gradient<T>("eigvalsh",
                    [](const auto& x) { return linalg::eigvalsh(x[0], (x[1] + matrix_transpose(x[1])) / 2); }, {a, b});
  check_gradient<T>(
      "eigh", [](const auto& x) { return square(linalg::eigh(x[0], (x[1] + matrix_transpose(x[1])) / 2).vectors); },
      {a, b});
  check_gradient<T>("eigvals", [](const auto& x) { return sum(linalg::eigvals(x[0], x[1])); }, {a, b});
  check_gradient<T>("gsvdvals", [](const auto& x) { return linalg::gsvdvals(x[0], x[1]); }, {a, b});
}

BOTH_MODES("second gradients of equations, roots and Riccati's equations are those of first ones") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  for (const Case& each : cases()) {
    const std::string label = each.label, name = each.function;
    if (label != "real" && !(label == "shifted" && (name == "sqrtm" || name == "logm"))) continue;
    if (name == "qzvals" || name == "eigvals" || name == "eigvalsh" || name == "gsvdvals") continue;
    std::vector<T> operands;
    for (const Given& m : each.operands) operands.push_back(tensor_of<T>(m, DType::f64));
    const Call<T>& f = calls<T>().at(name);
    const Call<T> slope = [&](const std::vector<T>& x) {
      return tyto::grad([&](const T& first) {
        std::vector<T> in = x;
        in[0] = first;
        return sum(sin(f(in)));
      })(x[0]);
    };
    check_gradient<T>(name, slope, operands, 2e-5);
  }
}

BOTH_MODES("forms that are not unique have no gradient, and say so") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  const T a = T{{2.0, 1.0}, {0.5, 3.0}};
  CHECK_THROWS_AS((void)tyto::grad([](const T& x) { return sum(linalg::schur(x).t); })(a), tyto::Error);
  CHECK_THROWS_AS((void)tyto::grad([](const T& x) { return sum(linalg::hess(x).h); })(a), tyto::Error);
  CHECK_THROWS_AS((void)tyto::grad([](const T& x) { return sum(linalg::qz(x, x).s); })(a), tyto::Error);
  CHECK_THROWS_AS((void)tyto::grad([](const T& x) { return sum(linalg::ldl(x).d); })(a), tyto::Error);
}

BOTH_MODES("stacks are computed matrix by matrix, and broadcast") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  const T a = T::normal({2, 3, 4, 4}, {.dtype = DType::f64, .key = tyto::Key{1, 2}}) + 6.0 * identity<T>(4, DType::f64);
  const T b = T::normal({3, 1, 4}, {.dtype = DType::f64, .key = tyto::Key{1, 3}});
  const T x = linalg::sylvester(a, T{{2.0}}, matrix_transpose(b));
  CHECK(x.shape() == Shape{2, 3, 4, 1});
  CHECK(largest(matmul(a, x) + 2.0 * x - matrix_transpose(b)) < 1e-12);
  const T root = linalg::sqrtm(a), logarithm = linalg::logm(a);
  CHECK(largest(matmul(root, root) - a) < 1e-11);
  CHECK(largest(linalg::expm(logarithm) - a) < 1e-11);
  const T one = linalg::sqrtm(a.get({tyto::Index(1), tyto::Index(2)}));
  CHECK(largest(root.get({tyto::Index(1), tyto::Index(2)}) - one) == 0);
  CHECK(linalg::sylvester(T::zeros({0, 0}), T::zeros({2, 2}), T::zeros({0, 2})).shape() == Shape{0, 2});
  CHECK(linalg::sqrtm(T::zeros({0, 3, 3})).shape() == Shape{0, 3, 3});
}

TEST_CASE("what has no result is an error in eager mode that says why, and NaN in a graph") {
  NEEDS_EIGEN
  using E = tyto::Tensor<tyto::Eager>;
  using L = tyto::Tensor<tyto::Lazy>;
  const auto nan = [](const L& x) { return tyto::all(isnan(x)).item<bool>(); };
  const auto both = [&](const auto& f, const char* message) {
    CHECK_THROWS_WITH_AS((void)f(E{}), message, tyto::ValueError);
    CHECK(nan(f(L{})));
  };
  both(
      [](const auto& like) {
        using T = std::decay_t<decltype(like)>;
        return linalg::sylvester(T{{1.0, 0.0}, {0.0, 2.0}}, T{{-1.0}}, T{{1.0}, {1.0}});
      },
      "sylvester: there is no unique solution: an eigenvalue of the first matrix and one of the second add up to zero");
  both(
      [](const auto& like) {
        using T = std::decay_t<decltype(like)>;
        return linalg::discrete_lyapunov(T{{1.0, 0.0}, {0.0, 0.5}}, T{{1.0, 0.0}, {0.0, 1.0}});
      },
      "discrete_lyapunov: there is no unique solution: the product of an eigenvalue and the conjugate of another, or "
      "of "
      "the same one, is one");
  both(
      [](const auto& like) {
        using T = std::decay_t<decltype(like)>;
        return linalg::sqrtm(T{{-1.0, 0.0}, {0.0, 1.0}});
      },
      "sqrtm: the matrix is singular without a square root, or it has a negative eigenvalue: cast it to complex for a "
      "complex result");
  both(
      [](const auto& like) {
        using T = std::decay_t<decltype(like)>;
        return linalg::logm(T::ones({2, 2}, DType::c128) * 0);
      },
      "logm: the matrix is singular");
  both(
      [](const auto& like) {
        using T = std::decay_t<decltype(like)>;
        return linalg::funm(T{{1.0, 1.0}, {0.0, 1.0}}.astype(DType::f64), [](const T& w) { return exp(w); });
      },
      "funm: the matrix is not diagonalisable");
  both(
      [](const auto& like) {
        using T = std::decay_t<decltype(like)>;
        return linalg::care(T{{0.0}}, T{{0.0}}, T{{1.0}}, T{{1.0}});
      },
      "care: there is no stabilising solution: eigenvalues lie on the border of stability, or r has no inverse");
  both(
      [](const auto& like) {
        using T = std::decay_t<decltype(like)>;
        return linalg::dare(T{{1.0}}, T{{0.0}}, T{{1.0}}, T{{1.0}});
      },
      "dare: there is no stabilising solution: eigenvalues lie on the border of stability, or r has no inverse");
  both(
      [](const auto& like) {
        using T = std::decay_t<decltype(like)>;
        return linalg::eigvals(T{{1.0}}, T{{0.0}});
      },
      "eigvals: the second matrix has no inverse; qzvals() takes such pairs");
  const E matrices = tyto::stack(std::vector<E>{E::eye(2), E::zeros({2, 2})});
  CHECK_THROWS_WITH_AS((void)linalg::logm(matrices.astype(DType::c128)),
                       "logm: the matrix is singular, for matrix 1 of the stack of shape (2,)", tyto::ValueError);
  // NaN in, NaN out.
  const E broken = E::full({2, 2}, std::nan(""));
  CHECK(tyto::all(isnan(linalg::sqrtm(broken))).item<bool>());
  CHECK(tyto::all(isnan(linalg::schur(broken).t)).item<bool>());
}

BOTH_MODES("shapes and types that matrices cannot have are refused by the name of the function") {
  NEEDS_EIGEN
  using T = tyto::Tensor<Mode>;
  const T wide = T::ones({2, 3}), square = T::ones({2, 2});
  CHECK_THROWS_WITH_AS((void)linalg::schur(wide), "schur: matrices must be square, not of shape (2,3)",
                       tyto::ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::sinm(wide), "sinm: matrices must be square, not of shape (2,3)", tyto::ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::lyapunov(square, wide),
                       "lyapunov: the right-hand side needs 2 rows and 2 columns, but it is of shape (2,3)",
                       tyto::ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::qz(square, T::ones({3, 3})),
                       "qz: matrices of one size are needed, not of shapes (2,2) and (3,3)", tyto::ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::care(square, square, square, T::ones({3, 3})),
                       "care: r needs 2 rows and 2 columns beside a of shape (2,2) and b of shape (2,2), but it is of "
                       "shape (3,3)",
                       tyto::ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::ordschur(linalg::schur(square), T::ones({3})),
                       "ordschur: the selection needs an element for each of the 2 rows, but it is of shape (3,)",
                       tyto::ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::gsvd(wide, square),
                       "gsvd: matrices of as many columns are needed, not of shapes (2,3) and (2,2)", tyto::ShapeError);
  CHECK_THROWS_AS((void)linalg::sqrtm(square.astype(DType::f16)), tyto::TypeError);
  const T mixed = tyto::stack(std::vector<T>{T::ones({2, 2}), T::eye(2)});
  CHECK_THROWS_WITH_AS(
      (void)linalg::null_space(mixed),
      "null_space: matrices of one rank are needed, but there are ranks 1 and 2 in the stack of shape (2,)",
      tyto::ValueError);
}

}  // namespace matrix_functions_test
