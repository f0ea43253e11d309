// SPDX-License-Identifier: MIT
// Branch cuts, signs of zero, infinities, NaN and the treatment of large and small numbers are those of C's functions
// (C11, annex G) and NumPy's; sources stand beside the formulas. Errors are measured relative to the absolute value of
// the result.
#include "core/loop/complex_formulas.hpp"

#include <algorithm>
#include <limits>

#include "core/graph/op_ids.hpp"

namespace tyto::core {

namespace {

using Real = LoopNumber;
using Complex = LoopComplex;

DType type_of(const Real& x) { return x.builder->type(x.value); }
bool is_single(const Real& x) { return type_of(x) == DType::f32; }

/// The number in the type of x.
Real number(double value, const Real& x) {
  const Scalar stored = is_single(x) ? Scalar(static_cast<float>(value)) : Scalar(value);
  return {x.builder, x.builder->constant(stored, type_of(x))};
}
/// A number that differs by type.
Real number(double single, double twofold, const Real& x) { return number(is_single(x) ? single : twofold, x); }

Real apply(OpId op, const Real& x) { return {x.builder, x.builder->apply(op, type_of(x), {x.value})}; }
Real apply(OpId op, const Real& a, const Real& b) {
  return {a.builder, a.builder->apply(op, type_of(a), {a.value, b.value})};
}
Real truth(OpId op, const Real& x) { return {x.builder, x.builder->apply(op, DType::boolean, {x.value})}; }
Real truth(OpId op, const Real& a, const Real& b) {
  return {a.builder, a.builder->apply(op, DType::boolean, {a.value, b.value})};
}
Real choose(const Real& condition, const Real& yes, const Real& no) {
  return {yes.builder, yes.builder->apply(OpId::where, type_of(yes), {condition.value, yes.value, no.value})};
}
Real as(DType dtype, const Real& x) { return {x.builder, x.builder->as(dtype, x.value)}; }

Real operator-(const Real& x) { return apply(OpId::negate, x); }
Real operator+(const Real& a, const Real& b) { return apply(OpId::add, a, b); }
Real operator-(const Real& a, const Real& b) { return apply(OpId::subtract, a, b); }
Real operator*(const Real& a, const Real& b) { return apply(OpId::multiply, a, b); }
Real operator/(const Real& a, const Real& b) { return apply(OpId::divide, a, b); }
Real operator+(double a, const Real& b) { return number(a, b) + b; }
Real operator-(double a, const Real& b) { return number(a, b) - b; }
Real operator*(double a, const Real& b) { return number(a, b) * b; }
Real operator==(const Real& x, double value) { return truth(OpId::equal, x, number(value, x)); }
Real operator<(const Real& a, const Real& b) { return truth(OpId::less, a, b); }
Real operator>(const Real& a, const Real& b) { return truth(OpId::greater, a, b); }
Real operator>=(const Real& a, const Real& b) { return truth(OpId::greater_equal, a, b); }
Real operator&&(const Real& a, const Real& b) { return truth(OpId::logical_and, a, b); }
Real operator||(const Real& a, const Real& b) { return truth(OpId::logical_or, a, b); }

Real operator!(const Real& x) { return truth(OpId::logical_not, x); }

Real isinf(const Real& x) { return truth(OpId::isinf, x); }
Real isfinite(const Real& x) { return truth(OpId::isfinite, x); }
Real abs(const Real& x) { return apply(OpId::abs, x); }
Real sqrt(const Real& x) { return apply(OpId::sqrt, x); }
Real exp(const Real& x) { return apply(OpId::exp, x); }
Real log(const Real& x) { return apply(OpId::log, x); }
Real log1p(const Real& x) { return apply(OpId::log1p, x); }
Real sin(const Real& x) { return apply(OpId::sin, x); }
Real cos(const Real& x) { return apply(OpId::cos, x); }
Real sinh(const Real& x) { return apply(OpId::sinh, x); }
Real cosh(const Real& x) { return apply(OpId::cosh, x); }
Real asinh(const Real& x) { return apply(OpId::asinh, x); }
Real atan2(const Real& y, const Real& x) { return apply(OpId::atan2, y, x); }
Real hypot(const Real& a, const Real& b) { return apply(OpId::hypot, a, b); }
Real copysign(const Real& size, const Real& sign) { return apply(OpId::copysign, size, sign); }
Real maximum(const Real& a, const Real& b) { return apply(OpId::maximum, a, b); }
Real minimum(const Real& a, const Real& b) { return apply(OpId::minimum, a, b); }

Complex operator+(const Complex& a, const Complex& b) { return {a.real + b.real, a.imaginary + b.imaginary}; }
Complex operator-(const Complex& a, const Complex& b) { return {a.real - b.real, a.imaginary - b.imaginary}; }
Complex operator*(const Complex& a, const Complex& b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}
Complex operator*(const Complex& z, const Real& factor) { return {z.real * factor, z.imaginary * factor}; }
Complex choose(const Real& condition, const Complex& yes, const Complex& no) {
  return {choose(condition, yes.real, no.real), choose(condition, yes.imaginary, no.imaginary)};
}
Complex conj(const Complex& z) { return {z.real, -z.imaginary}; }
Complex times_i(const Complex& z) { return {-z.imaginary, z.real}; }
Complex over_i(const Complex& z) { return {z.imaginary, -z.real}; }
Complex as(DType dtype, const Complex& z) { return {as(dtype, z.real), as(dtype, z.imaginary)}; }
Real is_zero(const Complex& z) { return z.real == 0 && z.imaginary == 0; }
Real is_infinite(const Complex& z) { return isinf(z.real) || isinf(z.imaginary); }

// R. L. Smith, Algorithm 116, CACM 1962: no square overflows. Division by zero goes part by part, as NumPy's does; two
// infinite parts are as large as each other.
Complex operator/(const Complex& a, const Complex& b) {
  const Real wide = abs(b.real) >= abs(b.imaginary);
  const Real larger = choose(wide, b.real, b.imaginary), smaller = choose(wide, b.imaginary, b.real);
  const Real zero = larger == 0, one = number(1, larger);
  const Real ratio = choose(isinf(smaller), copysign(one, smaller) * copysign(one, larger), smaller / larger);
  const Real divisor = larger + smaller * ratio;
  const Real real = choose(wide, a.real + a.imaginary * ratio, a.real * ratio + a.imaginary);
  const Real imaginary = choose(wide, a.imaginary - a.real * ratio, a.imaginary * ratio - a.real);
  return {choose(zero, a.real / abs(b.real), real / divisor),
          choose(zero, a.imaginary / abs(b.real), imaginary / divisor)};
}

/// A power of two that scales numbers near the ends of their range into its middle, and the numbers that undo it.
struct Scaling {
  Real factor, root, logarithm;  // root: of 1 / factor; logarithm: of 1 / factor
};
Scaling scaling_of(const Real& size) {
  const Real large = size > number(0x1p125, 0x1p1021, size), small = size < number(0x1p-60, 0x1p-500, size);
  const auto pick = [&](const Real& if_large, const Real& if_small, double otherwise) {
    return choose(large, if_large, choose(small, if_small, number(otherwise, size)));
  };
  return {pick(number(0x1p-4, size), number(0x1p64, 0x1p512, size), 1),
          pick(number(4, size), number(0x1p-32, 0x1p-256, size), 1),
          pick(number(2.772588722239781, size), number(-44.3614195558365, -354.891356446692, size), 0)};
}

// W. Kahan, Branch Cuts for Complex Elementary Functions, 1987.
Complex sqrt(const Complex& z) {
  const Real size = maximum(abs(z.real), abs(z.imaginary));
  const Scaling scaling = scaling_of(size);
  const Complex scaled = z * scaling.factor;
  const Real large = sqrt(0.5 * (abs(scaled.real) + hypot(scaled.real, scaled.imaginary)));
  const Real small = abs(scaled.imaginary) / (large + large);
  const Real right = z.real >= number(0, z.real);
  const Real real = choose(right, large, small) * scaling.root, imaginary = choose(right, small, large) * scaling.root;
  const Real infinite = isinf(z.imaginary), zero = size == 0;
  const Real infinity = number(std::numeric_limits<double>::infinity(), size);
  return {choose(infinite, infinity, choose(zero, number(0, size), real)),
          choose(infinite || zero, z.imaginary, copysign(imaginary, z.imaginary))};
}

/// Where x is large, functions that grow as e^x may overflow though their product with a cosine does not: they are
/// taken of a smaller number, and the product is multiplied by what that leaves out.
struct Growth {
  Real smaller, back;
};
Growth growth_of(const Real& x, const Real& size) {
  const Real large = size > number(80, 700, x), shift = number(60, 600, x);
  const Real factor = number(1.1420073898156842e26, 3.7730203009299397e260, x);  // e^shift
  return {choose(large, x - copysign(shift, x), x), choose(large, factor, number(1, x))};
}

/// Whether the angle of something infinite, or nothing, is not known.
Real is_lost(const Real& extreme, const Real& angle) { return extreme && !isfinite(angle); }

Complex exp(const Complex& z) {
  const auto [smaller, back] = growth_of(z.real, z.real);
  const Real size = exp(smaller), y = z.imaginary, zero = number(0, y);
  const Real angle = choose(is_lost(isinf(z.real), y), zero, y);
  return {size * cos(angle) * back, choose(y == 0, y, size * sin(angle) * back)};
}

// Far right the exponential has not lost what overflow would take from the formula for small numbers.
Complex expm1(const Complex& z) {
  const Complex far = exp(z);
  const Real half = sin(0.5 * z.imaginary);
  const Real near = apply(OpId::expm1, z.real) * cos(z.imaginary) - 2 * half * half;
  return {choose(abs(z.real) > number(40, z.real), far.real - number(1, z.real), near), far.imaginary};
}

/// Whether x lies between the limits.
Real lies_between(double low, const Real& x, double high) { return x > number(low, x) && x < number(high, x); }

/// The absolute value of x + i y, scaled, and its logarithm.
struct Size {
  Real scaled, logarithm;
};
Size size_of(const Real& x, const Real& y) {
  const Scaling scaling = scaling_of(maximum(abs(x), abs(y)));
  const Real scaled = hypot(x * scaling.factor, y * scaling.factor);
  return {scaled, log(scaled) + scaling.logarithm};
}

// Near the unit circle the logarithm of the absolute value is computed from its distance to 1.
Complex log(const Complex& z) {
  const Real x = abs(z.real), y = abs(z.imaginary);
  const Real larger = maximum(x, y), smaller = minimum(x, y);
  const Size size = size_of(x, y);
  const Real near = 0.5 * log1p((larger - number(1, larger)) * (1 + larger) + smaller * smaller);
  // Scaling by a power of two may bring other sizes into the interval; `larger` rules these out.
  const Real beside = lies_between(0.7, size.scaled, 1.4) && larger > number(0.4, larger);
  return {choose(beside, near, size.logarithm), atan2(z.imaginary, z.real)};
}
Complex log2(const Complex& z) { return log(z) * number(1.4426950408889634, z.real); }
Complex log10(const Complex& z) { return log(z) * number(0.4342944819032518, z.real); }

Complex log1p(const Complex& z) {
  const Real beside = 1 + z.real;
  const Real above = z.real * (2 + z.real) + z.imaginary * z.imaginary;  // |1 + z|^2 - 1
  const Real size = choose(lies_between(-0.5, above, 0.5), 0.5 * log1p(above), size_of(beside, z.imaginary).logarithm);
  return {size, atan2(z.imaginary, beside)};
}

// Zero times what is not known is zero in sinh of an imaginary number and in cosh of a real one.
Complex sinh(const Complex& z) {
  const auto [smaller, back] = growth_of(z.real, abs(z.real));
  const Real y = z.imaginary, one = number(1, y);
  const Real cosine = choose(is_lost(isinf(z.real) || z.real == 0, y), one, cos(y));
  return {sinh(smaller) * cosine * back, choose(y == 0, y, cosh(smaller) * sin(y) * back)};
}
Complex cosh(const Complex& z) {
  const auto [smaller, back] = growth_of(z.real, abs(z.real));
  const Real y = z.imaginary, one = number(1, y), sine = sin(y);
  const Real cosine = choose(is_lost(isinf(z.real), y), one, cos(y));
  const Real nothing = copysign(number(0, y), z.real) * copysign(one, sine);
  return {cosh(smaller) * cosine * back, choose(z.real == 0 || y == 0, nothing, sinh(smaller) * sine * back)};
}
// Kahan's; far from the imaginary axis the tangent has lost all but a sign.
Complex tanh(const Complex& z) {
  const Real x = z.real, y = z.imaginary, lost = is_lost(isinf(x), y);
  const Real t = apply(OpId::tan, y), s = sinh(x);
  const Real beta = 1 + t * t, rho = sqrt(1 + s * s), divisor = 1 + beta * (s * s);
  const Real far = abs(x) > number(11, 22, x) && (lost || isfinite(y)), decay = exp(-2 * abs(x));
  const Real rest = choose(lost, number(0, y), 4 * (sin(y) * cos(y)) * decay);
  return {choose(x == 0, x, choose(far, copysign(number(1, x), x), beta * rho * s / divisor)),
          choose(y == 0, y, choose(far, rest, t / divisor))};
}
Complex sin(const Complex& z) { return over_i(sinh(times_i(z))); }
Complex cos(const Complex& z) { return cosh(times_i(z)); }
Complex tan(const Complex& z) { return over_i(tanh(times_i(z))); }

Complex one_plus(const Complex& z) { return {1 + z.real, z.imaginary}; }
Complex one_minus(const Complex& z) { return {1 - z.real, -z.imaginary}; }

// The inverse functions are Kahan's. Where squares would overflow, one is negligible beside z, and they are computed
// from a scaled z; at infinity they are angles.
struct Part {
  Complex z;
  Real logarithm;  // of what it is a part of
};
Part part_of(const Complex& z) {
  const Real size = maximum(abs(z.real), abs(z.imaginary)), large = size > number(0x1p120, 0x1p1016, size);
  return {z * choose(large, number(0x1p-8, size), number(1, size)),
          choose(large, number(5.545177444479562, size), number(0, size))};
}
/// The inverse hyperbolic sine of a number so much larger than x.
Real asinh_beyond(const Real& x, const Real& logarithm) { return asinh(x) + copysign(logarithm, x); }

Real infinity_in(const Complex& z) { return number(std::numeric_limits<double>::infinity(), z.real); }
Real infinity_as(const Real& x) { return copysign(infinity_in({x, x}), x); }
Complex asin(const Complex& z) {
  const auto [w, logarithm] = part_of(z);
  const Complex a = sqrt(one_minus(w)), b = sqrt(one_plus(w));
  const Real infinite = is_infinite(z), across = choose(infinite, abs(z.imaginary), (a * b).real);
  const Real height = asinh_beyond((conj(a) * b).imaginary, logarithm);
  return {choose(z.real == 0, z.real, atan2(w.real, across)), choose(infinite, infinity_as(z.imaginary), height)};
}
Complex acos(const Complex& z) {
  const auto [w, logarithm] = part_of(z);
  const Complex a = sqrt(one_minus(w)), b = sqrt(one_plus(w));
  const Real infinite = is_infinite(z);
  const Real height = asinh_beyond((conj(b) * a).imaginary, logarithm);
  // The angle of an infinite number; a right one above and below zero.
  const Real up = choose(infinite, abs(z.imaginary), number(1, z.real));
  const Real angle = choose(infinite || z.real == 0, atan2(up, z.real), 2 * atan2(a.real, b.real));
  return {angle, choose(infinite, -infinity_as(z.imaginary), height)};
}
Complex acosh(const Complex& z) {
  const auto [w, logarithm] = part_of(z);
  const Complex a = sqrt(Complex{w.real - number(1, w.real), w.imaginary}), b = sqrt(one_plus(w));
  const Real infinite = is_infinite(z);
  const Real height = asinh_beyond((conj(a) * b).real, logarithm);
  const Real upright = copysign(number(1.5707963267948966, z.real), z.imaginary);
  const Real angle = choose(infinite, atan2(z.imaginary, z.real), 2 * atan2(a.imaginary, b.real));
  return {choose(infinite, infinity_in(z), height), choose(z.real == 0, upright, angle)};
}
// Scaled where squares would overflow. Far away the angle is a right one; above and below the poles, where a square may
// underflow, the height alone says how far they are.
Complex atanh(const Complex& z) {
  const Real size = maximum(abs(z.real), abs(z.imaginary)), large = size > number(0x1p60, 0x1p500, size);
  const Real one = choose(large, number(0x1p-66, 0x1p-520, size), number(1, size)), infinite = is_infinite(z);
  const Real x = abs(z.real) * one, y = z.imaginary * one, beside = one - x;
  const Real at_pole = beside == 0 && abs(y) < number(0x1p-30, 0x1p-60, y);
  const Real far = 0.25 * log1p(4 * x / (beside * beside + y * y) * one);
  const Real along = choose(at_pole, number(0.34657359027997264, y) - 0.5 * log(abs(y)), far);
  const Real up = choose(isinf(z.imaginary), copysign(one, z.imaginary), y * one);
  const Real right = choose(infinite, -infinity_in(z), beside * (one + x) - y * y);
  const Real nothing = infinite || z.real == 0;
  return {copysign(choose(nothing, number(0, x), along), z.real), 0.5 * atan2(2 * up, right)};
}
Complex asinh(const Complex& z) { return times_i(asin(over_i(z))); }
Complex atan(const Complex& z) { return over_i(atanh(times_i(z))); }

// The difference of squares as a product, which does not overflow where the result does not.
Complex square(const Complex& z) {
  const Real x = abs(z.real), y = abs(z.imaginary), product = z.real * z.imaginary;
  return {2 * ((x - y) * (0.5 * x + 0.5 * y)), product + product};
}
Complex reciprocal(const Complex& z) { return Complex{number(1, z.real), number(0, z.real)} / z; }
Complex rsqrt(const Complex& z) { return reciprocal(sqrt(z)); }
Complex negate(const Complex& z) { return {-z.real, -z.imaginary}; }
Complex round(const Complex& z) { return {apply(OpId::round, z.real), apply(OpId::round, z.imaginary)}; }
// Towards infinity along one axis the direction is that axis, along both it is unknown.
Complex sign(const Complex& z) {
  const Complex scaled = z * scaling_of(maximum(abs(z.real), abs(z.imaginary))).factor;
  const Real size = hypot(scaled.real, scaled.imaginary), zero = size == 0, one = number(1, size);
  const Real divisor = choose(zero, one, size);
  const Real along = isinf(z.real), up = isinf(z.imaginary);
  const Real nan = number(std::numeric_limits<double>::quiet_NaN(), size);
  const auto part = [&](const Real& own, const Real& infinite, const Real& other_infinite) {
    const Real lone = choose(other_infinite, nan, copysign(one, own));
    return choose(infinite, lone, choose(other_infinite, number(0, own), own / divisor));
  };
  return {part(scaled.real, along, up), part(scaled.imaginary, up, along)};
}

Complex add(const Complex& a, const Complex& b) { return a + b; }
Complex subtract(const Complex& a, const Complex& b) { return a - b; }
Complex multiply(const Complex& a, const Complex& b) { return a * b; }
Complex divide(const Complex& a, const Complex& b) { return a / b; }

// The first powers are exact; powers of zero are NumPy's.
Complex power(const Complex& a, const Complex& b) {
  const Real plain = b.imaginary == 0, nan = number(std::numeric_limits<double>::quiet_NaN(), a.real);
  const Real zero = number(0, a.real), of_zero = choose(plain && b.real > zero, zero, nan);
  const auto by = [&](double exponent, const Complex& result, const Complex& otherwise) {
    return choose(plain && b.real == exponent, result, otherwise);
  };
  const Complex general = choose(is_zero(a), Complex{of_zero, of_zero}, exp(b * log(a)));
  return by(0, {number(1, a.real), zero}, by(1, a, by(2, square(a), general)));
}

struct Unary {
  OpId op;
  Complex (*formula)(const Complex&);
};
constexpr Unary unary_formulas[] = {
    {OpId::negate, negate}, {OpId::sign, sign},
    {OpId::conj, conj},     {OpId::square, square},
    {OpId::sqrt, sqrt},     {OpId::rsqrt, rsqrt},
    {OpId::exp, exp},       {OpId::expm1, expm1},
    {OpId::log, log},       {OpId::log2, log2},
    {OpId::log10, log10},   {OpId::log1p, log1p},
    {OpId::sin, sin},       {OpId::cos, cos},
    {OpId::tan, tan},       {OpId::asin, asin},
    {OpId::acos, acos},     {OpId::atan, atan},
    {OpId::sinh, sinh},     {OpId::cosh, cosh},
    {OpId::tanh, tanh},     {OpId::asinh, asinh},
    {OpId::acosh, acosh},   {OpId::atanh, atanh},
    {OpId::round, round},   {OpId::reciprocal, reciprocal},
};
struct Binary {
  OpId op;
  Complex (*formula)(const Complex&, const Complex&);
};
constexpr Binary binary_formulas[] = {{OpId::add, add},
                                      {OpId::subtract, subtract},
                                      {OpId::multiply, multiply},
                                      {OpId::divide, divide},
                                      {OpId::power, power}};

}  // namespace

LoopComplex complex_result(OpId op, std::span<const LoopComplex> operands, bool wide) {
  if (op == OpId::power && wide && is_single(operands[0].real)) {
    return as(DType::f32, power(as(DType::f64, operands[0]), as(DType::f64, operands[1])));
  }
  if (op == OpId::fma) return operands[0] * operands[1] + operands[2];
  if (const auto* found = std::ranges::find(unary_formulas, op, &Unary::op); found != std::end(unary_formulas)) {
    return found->formula(operands[0]);
  }
  const auto* found = std::ranges::find(binary_formulas, op, &Binary::op);
  if (found == std::end(binary_formulas)) refuse_operator("loops over complex numbers", op);
  return found->formula(operands[0], operands[1]);
}

LoopNumber real_result(OpId op, std::span<const LoopComplex> operands) {
  const LoopComplex& a = operands[0];
  switch (op) {
    case OpId::abs: return hypot(a.real, a.imaginary);
    case OpId::isnan:
    case OpId::isinf: return truth(op, a.real) || truth(op, a.imaginary);
    case OpId::isfinite: return truth(op, a.real) && truth(op, a.imaginary);
    case OpId::equal: return truth(op, a.real, operands[1].real) && truth(op, a.imaginary, operands[1].imaginary);
    case OpId::not_equal: return truth(op, a.real, operands[1].real) || truth(op, a.imaginary, operands[1].imaginary);
    default: refuse_operator("loops over complex numbers", op);
  }
}

}  // namespace tyto::core
