// SPDX-License-Identifier: MIT
// Gradients of functions of matrices, of matrix equations and of pairs.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "tests/ops/matrix_testing.hpp"
#include "tests/support/both_modes.hpp"

namespace matrix_functions_test {

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
    const T gradient = tyto::grad(alone)(at[i]);
    const DType type = at[i].dtype();
    const T re = T::normal(at[i].shape(), {.dtype = DType::f64, .key = tyto::Key{i, 5}});
    const T direction = tyto::is_complex(type)
                            ? complex(re, T::normal(at[i].shape(), {.dtype = DType::f64, .key = tyto::Key{i, 6}}))
                            : re;
    const double step = 1e-5;
    const double there = (alone(at[i] + step * direction) - alone(at[i] - step * direction)).template item<double>();
    const T product = tyto::is_complex(type) ? real(conj(gradient) * direction) : gradient * direction;
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
    const Call<T> gradient = [&](const std::vector<T>& x) {
      return tyto::grad([&](const T& first) {
        std::vector<T> in = x;
        in[0] = first;
        return sum(sin(f(in)));
      })(x[0]);
    };
    check_gradient<T>(name, gradient, operands, 2e-5);
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

}  // namespace matrix_functions_test
