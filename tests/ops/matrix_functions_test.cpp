// SPDX-License-Identifier: MIT
// Functions of matrices and matrix equations: against SciPy, by their definitions, and what is refused.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/ops/matrix_testing.hpp"
#include "tests/support/both_modes.hpp"

namespace matrix_functions_test {

namespace {

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

TEST_CASE("a build without Eigen names it") {
  if (tyto_test::built_with("Eigen")) return;
  using E = tyto::Tensor<tyto::Eager>;
  CHECK_THROWS_WITH_AS(linalg::sqrtm(E::eye(2)), doctest::Contains("sqrtm: Eigen computes it"), tyto::DeviceError);
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
  const auto gradient = tyto::grad([](T at) { return sum(linalg::sinhm(at)); })(T::full({1, 1}, 300.0, DType::f64));
  CHECK(gradient.template item<double>() == doctest::Approx(std::cosh(300.0)));
}

TEST_CASE("a large negative number has no real root") {
  NEEDS_EIGEN
  using E = tyto::Tensor<tyto::Eager>;
  CHECK_THROWS_AS(linalg::sqrtm(E::full({1, 1}, -1e200, DType::f64)), tyto::ValueError);
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
