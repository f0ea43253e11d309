// SPDX-License-Identifier: MIT
// Reference values of the element-wise operators, written without the kernels' code.
#include "tests/devices/cpu/elementwise_reference.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/graph/op_ids.hpp"
#include "core/value/element_types.hpp"
#include "core/value/text.hpp"

namespace tyto::cpu::testing {

namespace {

using core::OpId;
using Real = long double;

constexpr Real infinity = std::numeric_limits<Real>::infinity();
constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
constexpr Real pi = 3.14159265358979323846264338327950288L;

Real nearest_even(Real x) {
  const Real down = std::floor(x), rest = x - down;
  if (std::isnan(x) || std::isinf(x)) return x;
  const Real even = std::fmod(down, 2.0L) == 0 ? down : down + 1;
  return std::copysign(rest < 0.5L ? down : rest > 0.5L ? down + 1 : even, x);
}

Real digamma(Real x) {
  if (x == 0) return std::copysign(infinity, -x);
  if (x < 0) return x == std::floor(x) ? nan : digamma(1 - x) - pi / std::tan(pi * (x - std::round(x)));
  Real sum = 0;
  for (; x < 30; x += 1) sum -= 1 / x;
  const Real z = 1 / (x * x);
  return sum + std::log(x) - 0.5L / x -
         z * (1.0L / 12 -
              z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z * (1.0L / 132 - z * 691.0L / 32760)))));
}

Real trigamma(Real x) {
  if (x <= 0 && x == std::floor(x)) return infinity;
  if (x < 0) return std::pow(pi / std::sin(pi * (x - std::round(x))), 2.0L) - trigamma(1 - x);
  Real sum = 0;
  for (; x < 30; x += 1) sum += 1 / (x * x);
  const Real z = 1 / (x * x);
  return sum + 1 / x + 0.5L * z +
         z / x * (1.0L / 6 - z * (1.0L / 30 - z * (1.0L / 42 - z * (1.0L / 30 - z * (5.0L / 66 - z * 691.0L / 2730)))));
}

/// Newton's steps on erfc or erf, from bisection.
Real erfinv(Real y) {
  if (!(std::abs(y) <= 1)) return nan;
  if (std::abs(y) == 1) return std::copysign(infinity, y);
  Real low = 0, high = 12;
  for (int i = 0; i < 200; ++i) {
    const Real middle = (low + high) / 2;
    const bool below = std::abs(y) < 0.5L ? std::erf(middle) < std::abs(y) : std::erfc(middle) > 1 - std::abs(y);
    (below ? low : high) = middle;
  }
  return std::copysign(std::abs(y) < 1e-10L ? std::abs(y) * std::sqrt(pi) / 2 : low, y);
}

/// Rybicki's sum of shifted bell curves, exact to 1e-26 at this step; the series near zero keeps relative accuracy.
Real dawsn(Real x) {
  const Real a = std::abs(x);
  if (a < 0.2L) {
    Real term = x, sum = x;
    for (int k = 1; k < 20; ++k) sum += term *= -2 * x * x / (2 * k + 1);
    return sum;
  }
  if (a > 50)
    return 1 / (2 * x) *
           (1 + 1 / (2 * x * x) *
                    (1 + 3 / (2 * x * x) * (1 + 5 / (2 * x * x) * (1 + 7 / (2 * x * x) * (1 + 9 / (2 * x * x))))));
  const Real h = 0.2L, even = 2 * std::round(a / (2 * h)), rest = a - even * h;
  Real sum = 0;
  for (int k = -61; k <= 61; k += 2) sum += std::exp(-(rest - k * h) * (rest - k * h)) / (even + k);
  return std::copysign(sum / std::sqrt(pi), x);
}

Real softplus(Real x) { return std::fmax(x, 0.0L) + std::log1p(std::exp(-std::abs(x))) + (std::isnan(x) ? nan : 0); }
Real sigmoid(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
Real larger(Real a, Real b) { return std::isnan(a) || std::isnan(b) ? nan : a > b ? a : b; }
Real smaller(Real a, Real b) { return std::isnan(a) || std::isnan(b) ? nan : a < b ? a : b; }
Real python_remainder(Real a, Real b) {
  const Real m = std::fmod(a, b);
  if (m == 0) return std::copysign(0.0L, b);
  return (m < 0) != (b < 0) ? m + b : m;
}
/// The quotient rounded down, from the exact remainder as Python and NumPy have it.
Real floored_quotient(Real a, Real b) {
  if (b == 0) return a / b;
  const Real m = std::fmod(a, b);
  if (std::isnan(m)) return m;
  const Real quotient = (a - m) / b - (m != 0 && (m < 0) != (b < 0) ? 1 : 0);
  return quotient == 0 ? std::copysign(0.0L, a / b) : nearest_even(quotient);
}

std::pair<Real, Real> mantissa_and_exponent(Real x) {
  int exponent = 0;
  if (!std::isfinite(x)) return {x, 0};
  const Real mantissa = std::frexp(x, &exponent);
  return {mantissa, exponent};
}

Real log_add(Real a, Real b) {
  if (a == b) return a + std::log(2.0L);
  return larger(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

}  // namespace

long double reference(OpId op, Real a, Real b, Real c) {
  switch (op) {
    case OpId::negate: return -a;
    case OpId::abs: return std::abs(a);
    case OpId::sign: return std::isnan(a) ? a : Real((a > 0) - (a < 0));
    case OpId::conj: return a;
    case OpId::square: return a * a;
    case OpId::reciprocal: return 1 / a;
    case OpId::sqrt: return std::sqrt(a);
    case OpId::rsqrt: return 1 / std::sqrt(a);
    case OpId::cbrt: return std::cbrt(a);
    case OpId::exp: return std::exp(a);
    case OpId::exp2: return std::exp2(a);
    case OpId::exp10: return std::pow(10.0L, a);
    case OpId::expm1: return std::expm1(a);
    case OpId::log: return std::log(a);
    case OpId::log2: return std::log2(a);
    case OpId::log10: return std::log10(a);
    case OpId::log1p: return std::log1p(a);
    case OpId::sin: return std::sin(a);
    case OpId::cos: return std::cos(a);
    case OpId::tan: return std::tan(a);
    case OpId::asin: return std::asin(a);
    case OpId::acos: return std::acos(a);
    case OpId::atan: return std::atan(a);
    case OpId::sinh: return std::sinh(a);
    case OpId::cosh: return std::cosh(a);
    case OpId::tanh: return std::tanh(a);
    case OpId::asinh: return std::asinh(a);
    case OpId::acosh: return std::acosh(a);
    case OpId::atanh: return std::atanh(a);
    case OpId::sigmoid: return sigmoid(a);
    case OpId::log_sigmoid: return -softplus(-a);
    case OpId::softplus: return softplus(a);
    case OpId::softsign: return a / (1 + std::abs(a));
    case OpId::silu: return a * sigmoid(a);
    case OpId::gelu: return 0.5L * a * (1 + std::erf(a / std::sqrt(2.0L)));
    case OpId::relu: return larger(a, 0);
    case OpId::erf: return std::erf(a);
    case OpId::erfc: return std::erfc(a);
    case OpId::erfinv: return erfinv(a);
    case OpId::dawsn: return dawsn(a);
    case OpId::lgamma: return std::lgamma(a);
    case OpId::digamma: return digamma(a);
    case OpId::trigamma: return trigamma(a);
    case OpId::floor: return std::floor(a);
    case OpId::ceil: return std::ceil(a);
    case OpId::round: return nearest_even(a);
    case OpId::trunc: return std::trunc(a);
    case OpId::isnan: return std::isnan(a);
    case OpId::isinf: return std::isinf(a);
    case OpId::isfinite: return std::isfinite(a);
    case OpId::add: return a + b;
    case OpId::subtract: return a - b;
    case OpId::multiply: return a * b;
    case OpId::divide: return a / b;
    case OpId::floor_divide: return floored_quotient(a, b);
    case OpId::remainder: return python_remainder(a, b);
    case OpId::fmod: return std::fmod(a, b);
    case OpId::power: return std::pow(a, b);
    case OpId::maximum: return larger(a, b);
    case OpId::minimum: return smaller(a, b);
    case OpId::fmax: return std::isnan(a) ? b : std::isnan(b) ? a : larger(a, b);
    case OpId::fmin: return std::isnan(a) ? b : std::isnan(b) ? a : smaller(a, b);
    case OpId::atan2: return std::atan2(a, b);
    case OpId::hypot: return std::hypot(a, b);
    case OpId::logaddexp: return log_add(a, b);
    case OpId::copysign: return std::copysign(a, b);
    case OpId::frexp_mantissa: return mantissa_and_exponent(a).first;
    case OpId::frexp_exponent: return mantissa_and_exponent(a).second;
    case OpId::ldexp: return std::isnan(b) ? b : std::ldexp(a, static_cast<int>(smaller(larger(b, -9999), 9999)));
    case OpId::equal: return a == b;
    case OpId::not_equal: return a != b;
    case OpId::less: return a < b;
    case OpId::less_equal: return a <= b;
    case OpId::greater: return a > b;
    case OpId::greater_equal: return a >= b;
    case OpId::where: return a != 0 ? b : c;
    case OpId::fma: return a * b + c;
    case OpId::clip: return smaller(larger(a, b), c);
    default:
      throw std::logic_error(core::text("tests/devices/cpu/elementwise_reference.cpp: add ", core::definition(op).name,
                                        " to `reference`"));
  }
}

namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

Wide floored(Wide a, Wide b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0); }

/// By repeated multiplication modulo 2^64.
Wide wrapped_power(Wide base, Wide exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  auto result = std::uint64_t{1}, factor = static_cast<std::uint64_t>(base);
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<Wide>(result);
}

/// By subtraction of shifted divisors, which needs no remainder.
Wide largest_divisor(Wide a, Wide b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) {
    Wide divisor = b;
    while (divisor * 2 <= a) divisor *= 2;
    for (; divisor >= b; divisor /= 2) a -= a >= divisor ? divisor : 0;
    std::swap(a, b);
  }
  return a;
}

/// Modulo 2^128: products of two u64 may pass the largest signed number.
Wide wrapped_product(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
}

Wide wrapped_sum(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<UnsignedWide>(a) + static_cast<UnsignedWide>(b));
}

Wide on_integers(OpId op, Wide a, Wide b, Wide c, int bits) {
  const bool outside = b < 0 || b >= bits;
  switch (op) {
    case OpId::negate: return -a;
    case OpId::abs: return a < 0 ? -a : a;
    case OpId::sign: return (a > 0) - (a < 0);
    case OpId::conj: return a;
    case OpId::square: return wrapped_product(a, a);
    case OpId::relu: return a > 0 ? a : 0;
    case OpId::floor:
    case OpId::ceil:
    case OpId::round:
    case OpId::trunc: return a;
    case OpId::isnan:
    case OpId::isinf: return 0;
    case OpId::isfinite: return 1;
    case OpId::logical_not: return a == 0;
    case OpId::bitwise_not: return -a - 1;
    case OpId::add: return a + b;
    case OpId::subtract: return a - b;
    case OpId::multiply: return wrapped_product(a, b);
    case OpId::floor_divide: return b == 0 ? 0 : floored(a, b);
    case OpId::remainder: return b == 0 ? 0 : a - floored(a, b) * b;
    case OpId::fmod: return b == 0 ? 0 : a % b;
    case OpId::power: return wrapped_power(a, b);
    case OpId::maximum:
    case OpId::fmax: return a > b ? a : b;
    case OpId::minimum:
    case OpId::fmin: return a < b ? a : b;
    case OpId::equal: return a == b;
    case OpId::not_equal: return a != b;
    case OpId::less: return a < b;
    case OpId::less_equal: return a <= b;
    case OpId::greater: return a > b;
    case OpId::greater_equal: return a >= b;
    case OpId::logical_and: return a != 0 && b != 0;
    case OpId::logical_or: return a != 0 || b != 0;
    case OpId::logical_xor: return (a != 0) != (b != 0);
    case OpId::bitwise_and: return a & b;
    case OpId::bitwise_or: return a | b;
    case OpId::bitwise_xor: return a ^ b;
    case OpId::left_shift:
      return outside ? 0 : static_cast<Wide>(static_cast<unsigned long long>(a) << static_cast<int>(b));
    case OpId::right_shift: return outside ? (a < 0 ? -1 : 0) : a >> static_cast<int>(b);
    case OpId::popcount: {
      int bits_set = 0;
      for (Wide rest = a < 0 ? -a : a; rest != 0; rest /= 2) bits_set += rest % 2 != 0 ? 1 : 0;
      return bits_set;
    }
    case OpId::gcd: return largest_divisor(a, b);
    case OpId::lcm:
      if (a == 0 || b == 0) return 0;
      return static_cast<Wide>(static_cast<std::uint64_t>(a / largest_divisor(a, b)) * static_cast<std::uint64_t>(b) *
                               static_cast<std::uint64_t>((a < 0) != (b < 0) ? -1 : 1));
    case OpId::where: return a != 0 ? b : c;
    case OpId::fma: return wrapped_sum(wrapped_product(a, b), c);
    case OpId::clip: return on_integers(OpId::minimum, on_integers(OpId::maximum, a, b, 0, bits), c, 0, bits);
    default:
      throw std::logic_error(core::text("tests/devices/cpu/elementwise_reference.cpp: add ", core::definition(op).name,
                                        " to `on_integers`"));
  }
}

}  // namespace

long double integer_reference(OpId op, Real a, Real b, Real c, DType type) {
  const int bits = static_cast<int>(size_of(type)) * 8;
  const auto whole = [](Real x) { return static_cast<Wide>(x); };
  const Wide exact = on_integers(op, whole(a), whole(b), whole(c), bits);
  if (type == DType::boolean) return op == OpId::bitwise_not ? a == 0 : exact != 0;
  const auto low = static_cast<std::uint64_t>(exact);
  return core::with_element_type(type, [&]<class E>() {
    using Integer = std::conditional_t<std::is_integral_v<E>, E, std::int64_t>;
    return static_cast<Real>(static_cast<Integer>(low));
  });
}

double allowed_ulps(OpId op) {
  switch (op) {
    case OpId::negate:
    case OpId::abs:
    case OpId::sign:
    case OpId::conj:
    case OpId::square:
    case OpId::reciprocal:
    case OpId::sqrt:
    case OpId::relu:
    case OpId::floor:
    case OpId::ceil:
    case OpId::round:
    case OpId::trunc:
    case OpId::add:
    case OpId::subtract:
    case OpId::multiply:
    case OpId::divide:
    case OpId::fmod:
    case OpId::maximum:
    case OpId::minimum:
    case OpId::fmax:
    case OpId::fmin:
    case OpId::copysign:
    case OpId::frexp_mantissa:
    case OpId::frexp_exponent:
    case OpId::ldexp:
    case OpId::where:
    case OpId::clip: return 0.501;
    case OpId::remainder:
    case OpId::floor_divide: return 1;
    case OpId::exp10:
    case OpId::logaddexp:
    case OpId::gelu:
    case OpId::lgamma:
    case OpId::digamma: return 8;
    default: return 4;
  }
}

}  // namespace tyto::cpu::testing
