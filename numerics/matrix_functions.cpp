// SPDX-License-Identifier: MIT
// Functions of matrices: roots and logarithms by Eigen, sines and cosines by exponentials, others by eigenvectors.
#include <cmath>
#include <limits>

#include "numerics/matrix_equations.hpp"
#include "tyto/complex.hpp"
#include "tyto/matrix_functions.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

namespace tyto::core::functions_of_matrices {

using T = AnyTensor;
using Tensors = std::vector<AnyTensor>;

// With r r = a: r dr + dr r = da, whose adjoint equation yields the gradient.
Tensors root_gradient(const Tensors&, const Tensors& out, const Tensors& g) {
  const T r = adjoint(out[0]);
  return {continuous_equation("sqrtm", r, r, g[0])};
}

Tensors logarithm_gradient(const Tensors& in, const Tensors& out, const Tensors& g);

const CustomOp& root_operator() {
  static const CustomOp op = custom_op({.name = "sqrtm",
                                        .inputs = 1,
                                        .kernels = eigen_kernels::sqrtm,
                                        .like = 0,
                                        .results = 1,
                                        .gradient = root_gradient});
  return op;
}

const CustomOp& logarithm_operator() {
  static const CustomOp op = custom_op({.name = "logm",
                                        .inputs = 1,
                                        .kernels = eigen_kernels::logm,
                                        .like = 0,
                                        .results = 1,
                                        .gradient = logarithm_gradient});
  return op;
}

// The logarithm of (a^H g; 0 a^H) has the derivative at a^H in the direction of g in its upper right corner (Mathias).
Tensors logarithm_gradient(const Tensors& in, const Tensors&, const Tensors& g) {
  const T a = adjoint(in[0]);
  const std::int64_t size = rows_of(a.shape());
  const auto axis = static_cast<std::size_t>(a.ndim() - 2);
  const T above = concat(Tensors{a, g[0]}, -1), below = concat(Tensors{zeros_like(a), a}, -1);
  const T both = apply(logarithm_operator(), "logm", {concat(Tensors{above, below}, -2)})[0];
  return {T(part_along(part_along(both, axis, 0, size), axis + 1, size, size))};
}

T square_operand(std::string_view function, const Value& a) {
  const T x = matrix_operand(function, a);
  check_square(function, TensorType{x.dtype(), x.shape(), false});
  return x;
}

T principal(const CustomOp& op, std::string_view function, const Value& a, const char* singular) {
  const T x = square_operand(function, a);
  const T y = apply(op, function, {x})[0];
  const std::string real_only = "or it has a negative eigenvalue: cast it to complex for a complex result";
  refuse_nan(function, {x}, y, text("the matrix is ", singular, is_complex(x.dtype()) ? "" : ", " + real_only));
  return y;
}

struct SineCosine {
  T sine, cosine;
};

/// The hyperbolic sine by its series: for norms up to a half, where the difference of exponentials cancels.
T sine_of_small(const T& a) {
  const T square = matmul(a, a);
  T rest = square / 210.0;  // a^2 / (15 * 14)
  for (int n = 13; n > 1; n -= 2) rest = (square + matmul(square, rest)) / static_cast<double>(n * (n - 1));
  return a + matmul(a, rest);
}

SineCosine hyperbolic(const T& a) {
  const T plus = linalg::expm(a), minus = linalg::expm(-a);
  const T is_small = less_equal(max(sum(abs(a), -1, true), {-2}, true), 0.5);
  // Large matrices are kept from the series, whose overflow would be NaN in gradients.
  const T sine = where(is_small, sine_of_small(where(is_small, a, zeros_like(a))), (plus - minus) / 2.0);
  return {sine, (plus + minus) / 2.0};
}

/// Sine and cosine by exp(ia), as in SciPy.
SineCosine sine_and_cosine(const T& a) {
  if (!is_complex(a.dtype())) {
    const T e = linalg::expm(complex(zeros_like(a), a));
    return {imag(e), real(e)};
  }
  const SineCosine turned = hyperbolic(complex(-imag(a), real(a)));  // of ia: i sin(a), cos(a)
  return {complex(imag(turned.sine), -real(turned.sine)), turned.cosine};
}

T quotient(std::string_view function, const T& a, const SineCosine& parts, const char* what) {
  const T y = linalg::solve_ex(parts.cosine, parts.sine).value;
  refuse_nan(function, {a}, y, text(what, " of the matrix has no inverse"));
  return y;
}

/// v diag(values) v^-1
T with_eigenvalues(const T& vectors, const T& values) {
  const T scaled = vectors * expand_dims(values, -2);
  return matrix_transpose(linalg::solve_ex(matrix_transpose(vectors), matrix_transpose(scaled)).value);
}

/// `y` where the factors make up the matrix again, NaN where there are too few eigenvectors to do so.
T where_diagonalised(const T& a, const T& again, const T& y) {
  const bool wide = real_type(a.dtype()) == DType::f64;
  const double tolerance = wide ? std::sqrt(std::numeric_limits<double>::epsilon())
                                : std::sqrt(static_cast<double>(std::numeric_limits<float>::epsilon()));
  const T largest = max(abs(a), {-2, -1}, true), off = max(abs(again - a), {-2, -1}, true);
  const T nothing = number_like(zeros_like(largest).value(), 0);
  return y + where(less_equal(off, largest * tolerance), nothing,
                   number_like(nothing.value(), std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace tyto::core::functions_of_matrices

namespace tyto {
namespace linalg TYTO_API {

namespace functions = core::functions_of_matrices;

template <class M>
Tensor<M> sqrtm(const Tensor<M>& a) {
  TYTO_ONCE(sqrtm, a);
  return functions::principal(functions::root_operator(), "sqrtm", a, "singular without a square root").value();
}

template <class M>
Tensor<M> logm(const Tensor<M>& a) {
  TYTO_ONCE(logm, a);
  return functions::principal(functions::logarithm_operator(), "logm", a, "singular").value();
}

template <class M>
Tensor<M> funm(const Tensor<M>& a, const std::type_identity_t<std::function<Tensor<M>(const Tensor<M>&)>>& f) {
  const core::AnyTensor given = functions::square_operand("funm", a);
  const core::AnyTensor x = core::cast_to(given.value(), complex_type(given.dtype()));
  if (x.size() == 0) return x.value();
  const auto [values, vectors] = linalg::eig(x);
  const core::AnyTensor image = f(Tensor<M>(values.value())).value();
  if (!image.defined() || image.shape() != values.shape()) {
    core::throw_error<ShapeError>("funm: the function must yield a number for each eigenvalue, which are of shape ",
                                  values.shape(), ", not ", image.defined() ? core::text(image.shape()) : "nothing");
  }
  const core::AnyTensor wide = core::cast_to(image.value(), x.dtype());
  const core::AnyTensor y = functions::where_diagonalised(x, functions::with_eigenvalues(vectors, values),
                                                          functions::with_eigenvalues(vectors, wide));
  core::refuse_nan("funm", {x, wide}, y, "the matrix is not diagonalisable");
  return y.value();
}

template <class M>
Tensor<M> sinm(const Tensor<M>& a) {
  TYTO_ONCE(sinm, a);
  return functions::sine_and_cosine(functions::square_operand("sinm", a)).sine.value();
}

template <class M>
Tensor<M> cosm(const Tensor<M>& a) {
  TYTO_ONCE(cosm, a);
  return functions::sine_and_cosine(functions::square_operand("cosm", a)).cosine.value();
}

template <class M>
Tensor<M> tanm(const Tensor<M>& a) {
  TYTO_ONCE(tanm, a);
  const core::AnyTensor x = functions::square_operand("tanm", a);
  return functions::quotient("tanm", x, functions::sine_and_cosine(x), "the cosine").value();
}

template <class M>
Tensor<M> sinhm(const Tensor<M>& a) {
  TYTO_ONCE(sinhm, a);
  return functions::hyperbolic(functions::square_operand("sinhm", a)).sine.value();
}

template <class M>
Tensor<M> coshm(const Tensor<M>& a) {
  TYTO_ONCE(coshm, a);
  return functions::hyperbolic(functions::square_operand("coshm", a)).cosine.value();
}

template <class M>
Tensor<M> tanhm(const Tensor<M>& a) {
  TYTO_ONCE(tanhm, a);
  const core::AnyTensor x = functions::square_operand("tanhm", a);
  return functions::quotient("tanhm", x, functions::hyperbolic(x), "the hyperbolic cosine").value();
}

TYTO_INSTANTIATE_LINALG(sqrtm)
TYTO_INSTANTIATE_LINALG(logm)
TYTO_INSTANTIATE_LINALG(funm)
TYTO_INSTANTIATE_LINALG(sinm)
TYTO_INSTANTIATE_LINALG(cosm)
TYTO_INSTANTIATE_LINALG(tanm)
TYTO_INSTANTIATE_LINALG(sinhm)
TYTO_INSTANTIATE_LINALG(coshm)
TYTO_INSTANTIATE_LINALG(tanhm)

}  // namespace TYTO_API
}  // namespace tyto
