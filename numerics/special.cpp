// SPDX-License-Identifier: MIT
// Everyday functions of elements, each a few element-wise operators that fuse into one loop.
#include "tyto/special.hpp"

#include <numbers>

#include "core/value/floating_format.hpp"
#include "ops/define.hpp"
#include "ops/once.hpp"
#include "ops/planned.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

template <class M>
Tensor<M> floating(std::string_view function, const Tensor<M>& x) {
  return core::as_floating(core::given(function, x));
}

}  // namespace

template <class M>
Tensor<M> float_power(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(float_power, a, b);
  core::require("float_power", a, b);
  const auto floating_or_wide = [](const Tensor<M>& x) { return is_floating(x.dtype()) ? x : x.astype(DType::f64); };
  return power(floating_or_wide(a), floating_or_wide(b));
}

template <class M>
std::pair<Tensor<M>, Tensor<M>> modf(const Tensor<M>& x) {
  TYTO_ONCE(modf, x);
  const Tensor<M> given = floating("modf", x);
  const Tensor<M> whole = trunc(given);
  // The sign stands outside, so that the fraction of a negative number without one is -0, and its gradient 1.
  const Tensor<M> sign = copysign(Tensor<M>(1.0), given);
  return {sign * where(isinf(given), 0, sign * given - sign * whole), whole};
}

template <class M>
std::pair<Tensor<M>, Tensor<M>> frexp(const Tensor<M>& x) {
  TYTO_ONCE(frexp, x);
  core::require("frexp", x);
  return {frexp_mantissa(x), frexp_exponent(x).astype(DType::i32)};
}

// The distance of neighbours follows from the exponent; below a power of two it is half of that above.
template <class M>
Tensor<M> nextafter(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& toward) {
  TYTO_ONCE(nextafter, x, toward);
  core::require("nextafter", x, toward);
  if (const Value planned = core::planned(&nextafter<Any>, x, toward)) return planned;
  const Value operands[] = {core::as_floating(x), core::as_floating(toward)};
  const DType type = core::common_type(operands);
  const Tensor<M> a = core::cast_to(operands[0], type), b = core::cast_to(operands[1], type);
  const core::FloatingFormat format = core::format_of(type);
  const Tensor<M> up = greater(b, a), zero = equal(a, 0);
  const Tensor<M> away = equal(up, greater(a, 0));
  const Tensor<M> halved = !away && equal(abs(frexp_mantissa(a)), 0.5);
  const Tensor<M> exponent = frexp_exponent(a) - static_cast<double>(format.digits) - halved.astype(type);
  const Tensor<M> step =
      ldexp(ones_like(a), where(zero, format.least_exponent(), maximum(exponent, format.least_exponent())));
  const Tensor<M> moved = a + where(up, step, -step);
  const Tensor<M> finite = where(isinf(a), copysign(format.largest(), a), where(zero, moved, copysign(moved, a)));
  return where(equal(a, b), b, where(isnan(a) || isnan(b), a + b, finite));
}

// The difference of equal infinities would be NaN.
template <class M>
Tensor<M> logaddexp2(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(logaddexp2, a, b);
  core::require("logaddexp2", a, b);
  if (const Value planned = core::planned(&logaddexp2<Any>, a, b)) return planned;
  if (const auto found = core::in_f32(&logaddexp2<M>, a, b)) return *found;
  const Value operands[] = {core::as_floating(a), core::as_floating(b)};
  const DType type = core::common_type(operands);
  const Tensor<M> x = core::cast_to(operands[0], type), y = core::cast_to(operands[1], type);
  const Tensor<M> step = where(isinf(x) && equal(x, y), 0, x - y);
  const Tensor<M> apart = maximum(x, y) + log1p(exp2(-abs(step))) * std::numbers::log2e;
  // Neighbours by the series of their middle, which is smooth where they are equal.
  const Tensor<M> is_near = abs(step) < 0.005, near = where(is_near, step, 0),
                  square_of_half = square(near * (0.5 * std::numbers::ln2));
  const Tensor<M> beside =
      y + near * 0.5 + 1 + (square_of_half * 0.5 - square(square_of_half) * (1.0 / 12)) * std::numbers::log2e;
  return where(is_near, beside, apart);
}

template <class M>
Tensor<M> nan_to_num(const Tensor<M>& x, double nan, std::optional<double> positive, std::optional<double> negative) {
  TYTO_ONCE(nan_to_num, x, nan, positive, negative);
  const Tensor<M> given = core::given("nan_to_num", x);
  if (is_complex(given.dtype())) {
    return core::of_parts(nan_to_num(Tensor<M>(core::as_parts(given)), nan, positive, negative));
  }
  if (!is_floating(given.dtype())) return given;
  if (const Value planned = core::planned(&nan_to_num<Any>, given, nan, positive, negative)) return planned;
  const double most = core::format_of(given.dtype()).largest();
  const Tensor<M> finite =
      where(isposinf(given), positive.value_or(most), where(isneginf(given), negative.value_or(-most), given));
  return where(isnan(given), nan, finite);
}

template <class M>
Tensor<M> isclose(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, double relative, double absolute,
                  Flag equal_nan) {
  TYTO_ONCE(isclose, a, b, relative, absolute, equal_nan);
  core::require("isclose", a, b);
  if (const auto found = core::in_f32(&isclose<M>, a, b, relative, absolute, equal_nan)) return *found;
  // In NumPy's order, which decides what is just within the tolerance; integers and truths are compared as f64.
  const Value operands[] = {core::operand(a), core::operand(b)};
  const DType common = core::common_type(operands), type = is_inexact(common) ? common : DType::f64;
  const Tensor<M> x = core::cast_to(operands[0], type), y = core::cast_to(operands[1], type);
  const Tensor<M> near = abs(x - y) <= absolute + relative * abs(y) && isfinite(y);
  const Tensor<M> close = near || equal(x, y);
  return equal_nan ? close || (isnan(x) && isnan(y)) : close;
}

template <class M>
Tensor<M> isposinf(const Tensor<M>& x) {
  core::require("isposinf", x);
  return isinf(x) && greater(x, 0);
}
template <class M>
Tensor<M> isneginf(const Tensor<M>& x) {
  core::require("isneginf", x);
  return isinf(x) && less(x, 0);
}
template <class M>
Tensor<M> signbit(const Tensor<M>& x) {
  TYTO_ONCE(signbit, x);
  const Tensor<M> given = core::given("signbit", x);
  if (const Value planned = core::planned(&signbit<Any>, given)) return planned;
  return is_floating(given.dtype()) ? less(copysign(ones_like(given), given), 0) : less(given, 0);
}
template <class M>
Tensor<M> deg2rad(const Tensor<M>& x) {
  return floating("deg2rad", x) * (std::numbers::pi / 180);
}
template <class M>
Tensor<M> rad2deg(const Tensor<M>& x) {
  return floating("rad2deg", x) * (180 / std::numbers::pi);
}

template <class M>
Tensor<M> sinc(const Tensor<M>& x) {
  TYTO_ONCE(sinc, x);
  const Tensor<M> given = floating("sinc", x);
  if (const Value planned = core::planned(&sinc<Any>, given)) return planned;
  if (const auto found = core::in_f32(&sinc<M>, x)) return *found;
  // Next to zero by its series, which has all its gradients there.
  const Tensor<M> angle = given * std::numbers::pi;
  const Tensor<M> is_small = abs(angle) < 0.01, small = square(where(is_small, angle, 0));
  const Tensor<M> large = where(is_small, 1, angle);
  return where(is_small, 1 - small * (1.0 / 6) + square(small) * (1.0 / 120), sin(large) / large);
}

template <class M>
Tensor<M> heaviside(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& at_zero) {
  TYTO_ONCE(heaviside, x, at_zero);
  core::require("heaviside", x, at_zero);
  if (const Value planned = core::planned(&heaviside<Any>, x, at_zero)) return planned;
  const Tensor<M> given = core::as_floating(core::resolve(x));
  const Tensor<M> step = where(given < 0, 0, where(equal(given, 0), core::as_floating(core::resolve(at_zero)), 1));
  return where(isnan(given), given, step);
}

// Near zero the series in (x / 2)^2, whose terms are all positive; far from it the asymptotic one in 1 / x, whose terms
// fall below the last bit before they grow. Beyond the last number of f64 whose result is one, it and its gradient are
// infinite; there the others are taken of a number of which their gradients are finite.
template <class M>
Tensor<M> i0(const Tensor<M>& x) {
  TYTO_ONCE(i0, x);
  constexpr double border = 25, last = 713.986908;
  constexpr int near_terms = 60, far_terms = 20;
  const Tensor<M> given = floating("i0", x);
  if (const Value planned = core::planned(&i0<Any>, given)) return planned;
  const Tensor<M> wide = given.astype(DType::f64), size = abs(wide);
  const Tensor<M> quarter = square(clip(wide, -border, border)) * 0.25;
  Tensor<M> near = ones_like(quarter);
  for (int k = near_terms; k > 0; --k) near = near * quarter * (1.0 / (static_cast<double>(k) * k)) + 1.0;
  // Powers of two move between the factors, so that no gradient of one of them overflows before the product does.
  const Tensor<M> large = clip(size, border, last), half = 0.125 * exp(0.5 * large);
  Tensor<M> far = ones_like(large);
  for (int k = far_terms; k > 0; --k) far = far * ((2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k)) / large + 1.0;
  far = far * rsqrt(large * (2 * std::numbers::pi / 4096)) * half * half;
  const Tensor<M> is_beyond = size > last;
  const Tensor<M> found = where(is_beyond, exp(where(is_beyond, size, 0.0)), where(size <= border, near, far));
  return found.astype(given.dtype());
}

template <class M>
Tensor<M> bitwise_count(const Tensor<M>& x) {
  const Tensor<M> bits = core::given("bitwise_count", x);
  if (is_inexact(bits.dtype())) core::throw_error<TypeError>("bitwise_count: integers are needed, not ", bits.dtype());
  return bits.dtype() == DType::boolean ? bits.astype(DType::u8) : popcount(bits).astype(DType::u8);
}

TYTO_INSTANTIATE(float_power)
TYTO_INSTANTIATE(modf)
TYTO_INSTANTIATE(frexp)
TYTO_INSTANTIATE(nextafter)
TYTO_INSTANTIATE(logaddexp2)
TYTO_INSTANTIATE(nan_to_num)
TYTO_INSTANTIATE(isclose)
TYTO_INSTANTIATE(isposinf)
TYTO_INSTANTIATE(isneginf)
TYTO_INSTANTIATE(signbit)
TYTO_INSTANTIATE(deg2rad)
TYTO_INSTANTIATE(rad2deg)
TYTO_INSTANTIATE(sinc)
TYTO_INSTANTIATE(heaviside)
TYTO_INSTANTIATE(i0)
TYTO_INSTANTIATE(bitwise_count)

}  // namespace TYTO_API
