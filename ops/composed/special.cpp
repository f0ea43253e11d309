// Everyday functions of elements, each a few element-wise operators that fuse into one loop.
#include "tyto/special.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/define.hpp"
#include "tyto/flow.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

template <class M>
Tensor<M> floating(std::string_view function, const Tensor<M>& x) {
  return core::as_floating(core::given(function, x));
}

double largest_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.fep127;
    case DType::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

template <class M>
void require_integers(std::string_view function, const Tensor<M>& x) {
  if (!is_integer(x.dtype())) throw TypeError(core::text(function, ": integers are needed, not ", x.dtype()));
}

}  // namespace

template <class M>
Tensor<M> float_power(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  core::require("float_power", a, b);
  const auto floating_or_wide = [](const Tensor<M>& x) { return is_floating(x.dtype()) ? x : x.astype(DType::f64); };
  return power(floating_or_wide(a), floating_or_wide(b));
}

template <class M>
std::pair<Tensor<M>, Tensor<M>> modf(const Tensor<M>& x) {
  const Tensor<M> given = floating("modf", x);
  const Tensor<M> whole = trunc(given);
  return {copysign(where(isinf(given), 0, given - whole), given), whole};
}

template <class M>
std::pair<Tensor<M>, Tensor<M>> frexp(const Tensor<M>& x) {
  const Tensor<M> given = floating("frexp", x);
  const Tensor<M> none = equal(given, 0) || !isfinite(given);
  // Numbers too small for an exact logarithm are made larger first.
  const Tensor<M> wide = where(none, 1, given).astype(DType::f64);
  const Tensor<M> tiny = abs(wide) < 0x1p-900;
  const Tensor<M> number = where(tiny, wide * 0x1p100, wide);
  Tensor<M> exponent = floor(log2(abs(number))) + 1.0;
  Tensor<M> mantissa = ldexp(number, -exponent);
  // A logarithm that was rounded over a whole number is one off.
  const Tensor<M> over = abs(mantissa) >= 1.0, under = abs(mantissa) < 0.5;
  mantissa = where(over, mantissa * 0.5, where(under, mantissa * 2.0, mantissa));
  exponent = exponent + over.astype(DType::f64) - under.astype(DType::f64) - where(tiny, 100.0, 0.0);
  return {where(none, given, mantissa.astype(given.dtype())), where(none, 0, exponent).astype(DType::i32)};
}

// Powers of two up to 2^1023 are exact; two factors reach beyond.
template <class M>
Tensor<M> ldexp(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& exponent) {
  const Tensor<M> given = floating("ldexp", x);
  core::require("ldexp", exponent);
  const Tensor<M> power_of_two = clip(exponent.astype(DType::f64), -2200.0, 2200.0);
  const Tensor<M> half = trunc(power_of_two * 0.5);
  const auto two_to = [](const Tensor<M>& n) { return round(exp2(abs(n))); };  // whole numbers, as they must be
  const auto scaled = [&](const Tensor<M>& y, const Tensor<M>& n) {
    return where(n < 0.0, y / two_to(n), y * two_to(n));
  };
  const Tensor<M> wide = given.astype(DType::f64), quarter = trunc(half * 0.5);
  Tensor<M> y = scaled(wide, quarter);
  y = scaled(y, half - quarter);
  y = scaled(y, power_of_two - half);
  return y.astype(given.dtype());
}

template <class M>
Tensor<M> nan_to_num(const Tensor<M>& x, double nan, std::optional<double> positive, std::optional<double> negative) {
  const Tensor<M> given = core::given("nan_to_num", x);
  if (!is_floating(given.dtype())) return given;
  const double most = largest_of(given.dtype());
  const Tensor<M> finite =
      where(isposinf(given), positive.value_or(most), where(isneginf(given), negative.value_or(-most), given));
  return where(isnan(given), nan, finite);
}

template <class M>
Tensor<M> isclose(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, double relative, double absolute,
                  bool equal_nan) {
  core::require("isclose", a, b);
  const Tensor<M> near = isfinite(b) && abs(a - b) <= absolute + relative * abs(b);
  const Tensor<M> close = near || equal(a, b);
  return equal_nan ? close || (isnan(a) && isnan(b)) : close;
}

template <class M>
Tensor<M> isposinf(const Tensor<M>& x) {
  return isinf(x) && greater(x, 0);
}
template <class M>
Tensor<M> isneginf(const Tensor<M>& x) {
  return isinf(x) && less(x, 0);
}
template <class M>
Tensor<M> signbit(const Tensor<M>& x) {
  const Tensor<M> given = core::given("signbit", x);
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
  const Tensor<M> given = floating("sinc", x);
  const Tensor<M> none = equal(given, 0);
  const Tensor<M> angle = where(none, 1, given) * std::numbers::pi;
  return where(none, 1, sin(angle) / angle);
}

template <class M>
Tensor<M> heaviside(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& at_zero) {
  core::require("heaviside", x, at_zero);
  const Tensor<M> given = core::as_floating(core::resolve(x));
  const Tensor<M> step = where(given < 0, 0, where(equal(given, 0), core::as_floating(core::resolve(at_zero)), 1));
  return where(isnan(given), given, step);
}

// Near zero the series in (x / 2)^2, whose terms are all positive; far from it the asymptotic one in 1 / x, whose terms
// fall below the last bit before they grow.
template <class M>
Tensor<M> i0(const Tensor<M>& x) {
  constexpr double border = 25;
  constexpr int near_terms = 60, far_terms = 20;
  const Tensor<M> given = floating("i0", x);
  const Tensor<M> size = abs(given).astype(DType::f64);
  const Tensor<M> quarter = square(minimum(size, border)) * 0.25;
  Tensor<M> near = ones_like(quarter);
  for (int k = near_terms; k > 0; --k) near = near * quarter * (1.0 / (static_cast<double>(k) * k)) + 1.0;
  const Tensor<M> large = maximum(size, border);
  Tensor<M> far = ones_like(large);
  for (int k = far_terms; k > 0; --k) far = far * ((2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k)) / large + 1.0;
  far = far * exp(large) * rsqrt(large * (2 * std::numbers::pi));
  return where(size <= border, near, far).astype(given.dtype());
}

// Euclid's steps until all are done. Neighbouring Fibonacci numbers take most: 12, 23, 46 and 92 of 8 to 64 bits.
template <class M>
Tensor<M> gcd(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  core::require("gcd", a, b);
  require_integers("gcd", a);
  require_integers("gcd", b);
  const Value operands[] = {core::resolve(a), core::resolve(b)};
  const DType type = core::common_type(operands);
  const Shape shape = core::broadcast("gcd", a.shape(), b.shape());
  using Pair = std::pair<Tensor<M>, Tensor<M>>;
  const Pair start{broadcast_to(abs(a.astype(type)), shape), broadcast_to(abs(b.astype(type)), shape)};
  const auto is_left = [](const Pair& pair) { return any(pair.second); };
  const auto step = [](const Pair& pair) {
    const Tensor<M> rest = remainder(pair.first, pair.second);  // by zero: 0
    return Pair{where(equal(pair.second, 0), pair.first, pair.second), rest};
  };
  return while_loop(start, is_left, step, {.most = static_cast<std::int64_t>(12 * size_of(type))}).first;
}
template <class M>
Tensor<M> lcm(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  core::require("lcm", a, b);
  const Tensor<M> divisor = gcd(a, b);
  return abs(floor_divide(a, maximum(divisor, 1)) * b);
}

// Sums of neighbouring bits, pairs, quadruples ... side by side.
template <class M>
Tensor<M> bitwise_count(const Tensor<M>& x) {
  Tensor<M> bits = core::given("bitwise_count", x);
  if (is_floating(bits.dtype())) throw TypeError(core::text("bitwise_count: integers are needed, not ", bits.dtype()));
  bits = abs(bits.astype(DType::i64));
  const auto added = [](const Tensor<M>& v, int shift, std::int64_t mask) {
    return (v & mask) + ((v >> shift) & mask);
  };
  bits = added(bits, 1, 0x5555555555555555);
  bits = added(bits, 2, 0x3333333333333333);
  bits = added(bits, 4, 0x0f0f0f0f0f0f0f0f);
  bits = added(bits, 8, 0x00ff00ff00ff00ff);
  bits = added(bits, 16, 0x0000ffff0000ffff);
  return added(bits, 32, 0x00000000ffffffff).astype(DType::u8);
}

TYTO_INSTANTIATE(float_power)
TYTO_INSTANTIATE(modf)
TYTO_INSTANTIATE(frexp)
TYTO_INSTANTIATE(ldexp)
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
TYTO_INSTANTIATE(gcd)
TYTO_INSTANTIATE(lcm)
TYTO_INSTANTIATE(bitwise_count)

}  // namespace TYTO_API
