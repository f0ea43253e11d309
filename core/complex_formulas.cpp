// Branch cuts, signs of zero and the treatment of large and small numbers are those of C's functions and NumPy's;
// sources stand beside the formulas. Errors are measured relative to the absolute value of the result.
#include "core/complex_formulas.hpp"

#include <algorithm>
#include <limits>

#include "core/op_ids.hpp"

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

// R. L. Smith, Algorithm 116, CACM 1962: no square overflows. Division by zero goes part by part, as NumPy's does.
Complex operator/(const Complex& a, const Complex& b) {
  const Real wide = abs(b.real) >= abs(b.imaginary);
  const Real larger = choose(wide, b.real, b.imaginary), smaller = choose(wide, b.imaginary, b.real);
  const Real zero = larger == 0;
  const Real ratio = smaller / larger, divisor = larger + smaller * ratio;
  const Real real = choose(wide, a.real + a.imaginary * ratio, a.real * ratio + a.imaginary);
  const Real imaginary = choose(wide, a.imaginary - a.real * ratio, a.imaginary * ratio - a.real);
  return {choose(zero, a.real / abs(b.real), real / divisor),
          choose(zero, a.imaginary / abs(b.real), imaginary / divisor)};
}

/// A power of two that brings numbers near the ends of their range away from there, and what undoes it.
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
  const Real infinite = truth(OpId::isinf, z.imaginary), zero = size == 0;
  const Real infinity = number(std::numeric_limits<double>::infinity(), size);
  return {choose(infinite, infinity, choose(zero, number(0, size), real)),
          choose(infinite || zero, z.imaginary, copysign(imaginary, z.imaginary))};
}

// e^x may overflow where its product with the cosine does not.
Complex exp(const Complex& z) {
  constexpr double shift = 8, factor = 2980.9579870417283;  // e^8
  const Real large = z.real > number(80, 700, z.real), zero = z.imaginary == 0;
  const Real size = exp(choose(large, z.real - number(shift, z.real), z.real));
  const Real back = choose(large, number(factor, z.real), number(1, z.real));
  return {size * cos(z.imaginary) * back, choose(zero, z.imaginary, size * sin(z.imaginary) * back)};
}

Complex expm1(const Complex& z) {
  const Real half = sin(0.5 * z.imaginary);
  return {apply(OpId::expm1, z.real) * cos(z.imaginary) - 2 * half * half, exp(z.real) * sin(z.imaginary)};
}

/// Whether x lies between the limits.
Real lies_between(double low, const Real& x, double high) { return x > number(low, x) && x < number(high, x); }

// Near the unit circle the logarithm of the absolute value is computed from its distance to 1.
Complex log(const Complex& z) {
  const Real x = abs(z.real), y = abs(z.imaginary);
  const Real larger = maximum(x, y), smaller = minimum(x, y);
  const Scaling scaling = scaling_of(larger);
  const Real size = hypot(x * scaling.factor, y * scaling.factor);
  const Real near = 0.5 * log1p((larger - number(1, larger)) * (1 + larger) + smaller * smaller);
  return {choose(lies_between(0.7, size, 1.4), near, log(size) + scaling.logarithm), atan2(z.imaginary, z.real)};
}
Complex log2(const Complex& z) { return log(z) * number(1.4426950408889634, z.real); }
Complex log10(const Complex& z) { return log(z) * number(0.4342944819032518, z.real); }

Complex log1p(const Complex& z) {
  const Real beside = 1 + z.real;
  const Real above = z.real * (2 + z.real) + z.imaginary * z.imaginary;  // |1 + z|^2 - 1
  const Real size = choose(lies_between(-0.5, above, 0.5), 0.5 * log1p(above), log(hypot(beside, z.imaginary)));
  return {size, atan2(z.imaginary, beside)};
}

Complex sinh(const Complex& z) { return {sinh(z.real) * cos(z.imaginary), cosh(z.real) * sin(z.imaginary)}; }
Complex cosh(const Complex& z) { return {cosh(z.real) * cos(z.imaginary), sinh(z.real) * sin(z.imaginary)}; }
// Kahan's; far from the imaginary axis the tangent has lost all but a sign.
Complex tanh(const Complex& z) {
  const Real t = apply(OpId::tan, z.imaginary), s = sinh(z.real);
  const Real beta = 1 + t * t, rho = sqrt(1 + s * s), divisor = 1 + beta * (s * s);
  const Real far = abs(z.real) > number(11, 22, z.real), decay = exp(-2 * abs(z.real));
  return {choose(far, copysign(number(1, z.real), z.real), beta * rho * s / divisor),
          choose(far, 4 * (sin(z.imaginary) * cos(z.imaginary)) * decay, t / divisor)};
}
Complex sin(const Complex& z) { return over_i(sinh(times_i(z))); }
Complex cos(const Complex& z) { return cosh(times_i(z)); }
Complex tan(const Complex& z) { return over_i(tanh(times_i(z))); }

Complex one_plus(const Complex& z) { return {1 + z.real, z.imaginary}; }
Complex one_minus(const Complex& z) { return {1 - z.real, -z.imaginary}; }

// The inverse functions are Kahan's.
Complex asin(const Complex& z) {
  const Complex a = sqrt(one_minus(z)), b = sqrt(one_plus(z));
  return {atan2(z.real, (a * b).real), asinh((conj(a) * b).imaginary)};
}
Complex acos(const Complex& z) {
  const Complex a = sqrt(one_minus(z)), b = sqrt(one_plus(z));
  return {2 * atan2(a.real, b.real), asinh((conj(b) * a).imaginary)};
}
Complex acosh(const Complex& z) {
  const Complex a = sqrt(Complex{z.real - number(1, z.real), z.imaginary}), b = sqrt(one_plus(z));
  return {asinh((conj(a) * b).real), 2 * atan2(a.imaginary, b.real)};
}
Complex atanh(const Complex& z) {
  const Real x = abs(z.real), beside = 1 - x;
  const Real size = 0.25 * log1p(4 * x / (beside * beside + z.imaginary * z.imaginary));
  const Real angle = atan2(2 * z.imaginary, beside * (1 + x) - z.imaginary * z.imaginary);
  return {copysign(size, z.real), 0.5 * angle};
}
Complex asinh(const Complex& z) { return times_i(asin(over_i(z))); }
Complex atan(const Complex& z) { return over_i(atanh(times_i(z))); }

Complex square(const Complex& z) { return z * z; }
Complex reciprocal(const Complex& z) { return Complex{number(1, z.real), number(0, z.real)} / z; }
Complex rsqrt(const Complex& z) { return reciprocal(sqrt(z)); }
Complex negate(const Complex& z) { return {-z.real, -z.imaginary}; }
Complex round(const Complex& z) { return {apply(OpId::round, z.real), apply(OpId::round, z.imaginary)}; }
// Towards infinity along one axis the direction is that axis, along both it is unknown.
Complex sign(const Complex& z) {
  const Real size = hypot(z.real, z.imaginary), zero = size == 0, one = number(1, size);
  const Real divisor = choose(zero, one, size);
  const Real along = truth(OpId::isinf, z.real), up = truth(OpId::isinf, z.imaginary);
  const Real nan = number(std::numeric_limits<double>::quiet_NaN(), size);
  const auto part = [&](const Real& own, const Real& infinite, const Real& other_infinite) {
    const Real lone = choose(other_infinite, nan, copysign(one, own));
    return choose(infinite, lone, choose(other_infinite, number(0, own), own / divisor));
  };
  return {part(z.real, along, up), part(z.imaginary, up, along)};
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
  return by(0, {number(1, a.real), zero}, by(1, a, by(2, a * a, general)));
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
