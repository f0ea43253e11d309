// SPDX-License-Identifier: MIT
// Polynomials by Horner's rule, least squares and convolution.
#include "tyto/polynomials.hpp"

#include <algorithm>

#include "ops/define.hpp"
#include "ops/once.hpp"
#include "tyto/complex.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/windows.hpp"

namespace tyto TYTO_API {

namespace {

template <class M>
void require_vector(std::string_view function, const Tensor<M>& x) {
  core::require(function, x);
  if (x.ndim() != 1) core::throw_error<ShapeError>(function, ": a vector is needed, not shape ", x.shape());
}

template <class M>
void require_elements(std::string_view function, const Tensor<M>& x) {
  require_vector(function, x);
  if (x.size() == 0) core::throw_error<ShapeError>(function, ": a vector of shape (0,) has no elements");
}

/// Both vectors in their common type, zeros put before the shorter one.
template <class M>
std::pair<Tensor<M>, Tensor<M>> of_one_length(std::string_view function, const Tensor<M>& a, const Tensor<M>& b) {
  require_vector(function, a);
  require_vector(function, b);
  const std::int64_t length = std::max(a.size(), b.size());
  return {pad(a, {length - a.size()}, {0}), pad(b, {length - b.size()}, {0})};
}

/// Sums of products of a with b, b being shifted along it: shifted parts of a times each element of a short b, else a
/// convolution of neural networks.
template <class M>
Tensor<M> slid(const Tensor<M>& a, const Tensor<M>& b, std::int64_t padding_before, std::int64_t padding_after) {
  const Value operands[] = {core::resolve(a), core::resolve(b)};
  const DType type = core::common_type(operands);
  constexpr std::int64_t few = 4;
  // Sums of 16-bit numbers would be rounded at each step; a convolution rounds them once.
  if (b.size() <= few && (is_integer(type) || size_of(type) >= 4)) {
    const Tensor<M> padded = pad(a.astype(type), {padding_before}, {padding_after}), factors = b.astype(type);
    const std::int64_t count = std::max<std::int64_t>(padded.size() - b.size() + 1, 0);
    Tensor<M> sums = narrow(padded, 0, 0, count) * factors.get({0});
    for (std::int64_t i = 1; i < b.size(); ++i) sums = fma(narrow(padded, 0, i, i + count), factors.get({i}), sums);
    return sums;
  }
  if (is_complex(type)) {
    // A number is two channels, and a factor the matrix that turns and stretches them.
    const Tensor<M> left = a.astype(type), right = b.astype(type), re = real(right), im = imag(right);
    const Tensor<M> factors = stack({stack({re, im}, 1), stack({-im, re}, 1)}, 1);
    const Tensor<M> sums = conv1d(expand_dims(stack({real(left), imag(left)}, 1), 0), factors,
                                  {.padding = Padding({padding_before}, {padding_after})});
    const auto part = [&](std::int64_t which) { return reshape(narrow(sums, 2, which, which + 1), {-1}); };
    return complex(part(0), part(1));
  }
  // Integers up to 2^53 go through f64 unchanged.
  const DType within = is_floating(type) ? type : DType::f64;
  const Tensor<M> left = reshape(a, {1, a.size(), 1}).astype(within),
                  right = reshape(b, {b.size(), 1, 1}).astype(within);
  const Tensor<M> sums = conv1d(left, right, {.padding = Padding({padding_before}, {padding_after})});
  return reshape(sums, {-1}).astype(type);
}

template <class M>
Tensor<M> correlated(std::string_view function, const Tensor<M>& a, const Tensor<M>& b, Overlap overlap) {
  require_elements(function, a);
  require_elements(function, b);
  const std::int64_t shorter = b.size();
  switch (overlap) {
    case Overlap::full: return slid(a, b, shorter - 1, shorter - 1);
    case Overlap::same: return slid(a, b, shorter / 2, (shorter - 1) / 2);
    case Overlap::valid: return slid(a, b, 0, 0);
  }
  throw ValueError("convolve: unknown overlap");
}

}  // namespace

template <class M>
Tensor<M> convolve(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, Overlap overlap) {
  TYTO_ONCE(convolve, a, b, overlap);
  core::require("convolve", a, b);
  return a.size() < b.size() ? correlated("convolve", b, flip(a), overlap)
                             : correlated("convolve", a, flip(b), overlap);
}

template <class M>
Tensor<M> correlate(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, Overlap overlap) {
  TYTO_ONCE(correlate, a, b, overlap);
  core::require("correlate", a, b);
  const Tensor<M> factors = conj(b);
  if (a.size() >= b.size()) return correlated("correlate", a, factors, overlap);
  return flip(correlated("correlate", factors, a, overlap));
}

template <class M>
Tensor<M> polyval(const Tensor<M>& coefficients, const std::type_identity_t<Tensor<M>>& x) {
  TYTO_ONCE(polyval, coefficients, x);
  if (const auto found = core::in_f32(&polyval<M>, coefficients, x)) return *found;
  require_vector("polyval", coefficients);
  core::require("polyval", x);
  Tensor<M> y = zeros_like(x);
  for (std::int64_t i = 0; i < coefficients.size(); ++i) y = y * x + coefficients.get({i});
  return y;
}

template <class M>
Tensor<M> polyfit(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& y, std::int64_t degree,
                  const std::type_identity_t<Tensor<M>>& weights) {
  TYTO_ONCE(polyfit, x, y, degree, weights);
  require_elements("polyfit", x);
  require_vector("polyfit", y);
  if (degree < 0) core::throw_error<ValueError>("polyfit: the degree ", degree, " is negative");
  if (x.size() != y.size()) {
    core::throw_error<ShapeError>("polyfit: ", x.size(), " places and ", y.size(), " values; as many are needed");
  }
  const Value operands[] = {core::as_floating(core::resolve(x)), core::as_floating(core::resolve(y))};
  const DType type = core::common_type(operands);
  const DType wide = is_complex(type) ? DType::c128 : DType::f64;
  Tensor<M> powers = linalg::vander(x.astype(wide), degree + 1), heights = y.astype(wide);
  if (weights.defined()) {
    if (weights.shape() != x.shape()) {
      core::throw_error<ShapeError>("polyfit: weights of shape ", weights.shape(), " for ", x.size(), " points");
    }
    const Tensor<M> weight = weights.astype(DType::f64);
    powers = powers * expand_dims(weight, 1);
    heights = heights * weight;
  }
  // Columns of one length make the equations as well conditioned as they can be.
  const Tensor<M> lengths = sqrt(sum(square(abs(powers)), 0));
  const Tensor<M> scale = where(equal(lengths, 0), 1, lengths);
  return (linalg::lstsq(powers / scale, heights).solution / scale).astype(type);
}

template <class M>
Tensor<M> polyadd(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(polyadd, a, b);
  const auto [left, right] = of_one_length("polyadd", a, b);
  return left + right;
}
template <class M>
Tensor<M> polysub(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(polysub, a, b);
  const auto [left, right] = of_one_length("polysub", a, b);
  return left - right;
}
template <class M>
Tensor<M> polymul(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(polymul, a, b);
  require_elements("polymul", a);
  require_elements("polymul", b);
  return convolve(a, b);
}

template <class M>
PolynomialDivision<M> polydiv(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(polydiv, a, b);
  require_elements("polydiv", a);
  require_elements("polydiv", b);
  const auto divided = [](const Tensor<M>& over, const Tensor<M>& under) {
    const PolynomialDivision<M> of = polydiv(over, under);
    return std::vector<Tensor<M>>{of.quotient, of.remainder};
  };
  if (const auto found = core::in_f32(divided, a, b)) return {found->at(0), found->at(1)};
  const Value operands[] = {core::as_floating(core::resolve(a)), core::as_floating(core::resolve(b))};
  const DType type = core::common_type(operands);
  const Tensor<M> divisor = b.astype(type);
  Tensor<M> rest = a.astype(type);
  if (rest.size() < divisor.size()) return {core::full_like(rest, {1}, 0, type), rest};
  // Each coefficient of the quotient clears the leading one of what is left.
  const Tensor<M> leading = divisor.get({0}), others = narrow(divisor, 0, 1, divisor.size());
  std::vector<Tensor<M>> quotient;
  for (std::int64_t left = a.size() - b.size() + 1; left > 0; --left) {
    const Tensor<M> factor = rest.get({0}) / leading;
    quotient.push_back(factor);
    const Tensor<M> reduced = narrow(rest, 0, 1, b.size()) - factor * others;
    rest = concat({reduced, narrow(rest, 0, b.size(), rest.size())});
  }
  if (b.size() == 1) rest = core::full_like(rest, {1}, 0, type);
  return {stack(quotient), rest};
}

template <class M>
Tensor<M> poly(const Tensor<M>& zeros) {
  TYTO_ONCE(poly, zeros);
  if (const auto found = core::in_f32(&poly<M>, zeros)) return *found;
  core::require("poly", zeros);
  if (zeros.ndim() == 2) {
    const Tensor<M> found = poly(linalg::eigvals(zeros));
    return is_complex(zeros.dtype()) ? found : real(found);
  }
  require_vector("poly", zeros);
  const Tensor<M> given = core::as_floating(core::resolve(zeros));
  Tensor<M> product = core::full_like(given, {1}, 1, given.dtype());
  for (std::int64_t i = 0; i < given.size(); ++i) {
    product = pad(product, {0}, {1}) - pad(product, {1}, {0}) * given.get({i});
  }
  return product;
}

template <class M>
Tensor<M> roots(const Tensor<M>& coefficients) {
  TYTO_ONCE(roots, coefficients);
  if (const auto found = core::in_f32(&roots<M>, coefficients)) return *found;
  require_elements("roots", coefficients);
  const Tensor<M> given = core::as_floating(core::resolve(coefficients));
  const std::int64_t degree = given.size() - 1;
  if (degree == 0) return core::full_like(given, {0}, 0, complex_type(given.dtype()));
  const Tensor<M> first = -narrow(given, 0, 1, degree + 1) / given.get({0});
  const Tensor<M> ones =
      core::cast_to(core::emit(core::mode_like(given), core::OpId::eye,
                               core::RangeAttributes{{degree - 1, degree - 1}, real_type(given.dtype()), 0, 0}),
                    given.dtype());
  const Tensor<M> below = pad(ones, {0, 0}, {0, 1});
  return linalg::eigvals(concat({expand_dims(first, 0), below}));
}

template <class M>
Tensor<M> polyder(const Tensor<M>& coefficients, std::int64_t order) {
  TYTO_ONCE(polyder, coefficients, order);
  if (const auto found = core::in_f32(&polyder<M>, coefficients, order)) return *found;
  require_vector("polyder", coefficients);
  if (order < 0) core::throw_error<ValueError>("polyder: the order ", order, " is negative");
  Tensor<M> out = core::resolve(coefficients);
  for (; order > 0 && out.size() > 0; --order) {
    const std::int64_t degree = out.size() - 1;
    out = narrow(out, 0, 0, -1) * Tensor<M>(core::arange_like(out, degree, real_type(out.dtype()), degree, -1));
  }
  return out;
}

template <class M>
Tensor<M> polyint(const Tensor<M>& coefficients, double constant) {
  TYTO_ONCE(polyint, coefficients, constant);
  if (const auto found = core::in_f32(&polyint<M>, coefficients, constant)) return *found;
  require_vector("polyint", coefficients);
  const Tensor<M> given = core::as_floating(core::resolve(coefficients));
  const Tensor<M> powers =
      given / Tensor<M>(core::arange_like(given, given.size(), real_type(given.dtype()), given.size(), -1));
  return concat({powers, Tensor<M>(core::full_like(given, {1}, constant, given.dtype()))});
}

TYTO_INSTANTIATE(convolve)
TYTO_INSTANTIATE(correlate)
TYTO_INSTANTIATE(polyval)
TYTO_INSTANTIATE(polyfit)
TYTO_INSTANTIATE(polyadd)
TYTO_INSTANTIATE(polysub)
TYTO_INSTANTIATE(polymul)
TYTO_INSTANTIATE(poly)
TYTO_INSTANTIATE(roots)
TYTO_INSTANTIATE(polyder)
TYTO_INSTANTIATE(polyint)
template PolynomialDivision<Eager> polydiv(const Tensor<Eager>&, const Tensor<Eager>&);
template PolynomialDivision<Lazy> polydiv(const Tensor<Lazy>&, const Tensor<Lazy>&);
template PolynomialDivision<Any> polydiv(const Tensor<Any>&, const Tensor<Any>&);

}  // namespace TYTO_API
