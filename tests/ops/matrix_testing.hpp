// SPDX-License-Identifier: MIT
// Shared by the tests of matrix functions, forms and equations: calls by name, and matrices with structure.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <tyto/matrix_functions.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/built_with.hpp"

namespace matrix_functions_test {

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
inline const std::vector<Case>& cases() {
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

inline constexpr DType types[] = {DType::f32, DType::f64, DType::c64, DType::c128};

}  // namespace matrix_functions_test
