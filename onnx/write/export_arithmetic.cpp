// SPDX-License-Identifier: MIT
// Exports arithmetic that ONNX composes differently: exact for every element that ours is exact for, infinities and
// zeros included.
#include <limits>
#include <numbers>

#include "onnx/write/export.hpp"

namespace tyto::onnx {

namespace {

bool is_whole(const ExportedNode& n) { return !is_floating(n.result().dtype); }

/// A type of integers in which quotients and comparisons are defined, and which holds the result's elements.
DType whole_type(DType dtype) { return dtype == DType::i32 || dtype == DType::u64 ? dtype : DType::i64; }

/// Operands of a division of integers. A divisor of 0 or -1 is 1, which leaves no rest either: dividing by zero, or the
/// least number by -1, ends the process in some runtimes.
struct Division {
  DType type;
  Name a, b, divisor, zero;
};
Division division(const ExportedNode& n) {
  const DType type = whole_type(n.result().dtype);
  const auto operand = [&](std::size_t i) { return n.out().cast(n.as_result(i), n.result().dtype, type); };
  Division d{.type = type, .a = operand(0), .b = operand(1), .divisor = Name::none, .zero = n.out().number(0, type)};
  Name unsafe = n.add("Equal", {d.b, d.zero});
  if (!is_unsigned(type)) unsafe = n.add("Or", {unsafe, n.add("Equal", {d.b, n.out().number(-1, type)})});
  d.divisor = n.add("Where", {unsafe, n.out().number(1, type), d.b});
  return d;
}

Names rest_of_division(const ExportedNode& n, bool sign_of_divisor) {
  const Division d = division(n);
  const Name y = sign_of_divisor ? n.add("Mod", {d.a, d.divisor})
                                 : n.add("Sub", {d.a, n.add("Mul", {n.add("Div", {d.a, d.divisor}), d.divisor})});
  return {n.out().cast(y, d.type, n.result().dtype)};
}

/// Where the rest of a division by b is not zero and has the other sign.
Name across_zero(const ExportedNode& n, Name rest, Name b, Name zero) {
  return n.add("And", {n.add("Not", {n.add("Equal", {rest, zero})}),
                       n.add("Xor", {n.add("Less", {rest, zero}), n.add("Less", {b, zero})})});
}

Names remainder(const ExportedNode& n) {
  if (is_whole(n)) return rest_of_division(n, true);
  const Name b = n.as_result(1), m = n.add("Mod", {n.as_result(0), b}, {{"fmod", std::int64_t{1}}});
  return {n.add("Where", {across_zero(n, m, b, n.number(0)), n.add("Add", {m, b}), m})};
}
Names fmod(const ExportedNode& n) {
  if (is_whole(n)) return rest_of_division(n, false);
  return {n.add("Mod", {n.as_result(0), n.as_result(1)}, {{"fmod", std::int64_t{1}}})};
}
// Rounded towards zero, and one less where that is up. Less its rest, a number divides without one, up to rounding.
Names floor_divide(const ExportedNode& n) {
  if (is_whole(n)) {
    const Division d = division(n);
    const Name quotient = n.add("Div", {d.a, d.divisor});
    const Name rest = n.add("Sub", {d.a, n.add("Mul", {quotient, d.divisor})});
    const Name up = n.out().cast(across_zero(n, rest, d.divisor, d.zero), DType::boolean, d.type);
    Name y = n.add("Sub", {quotient, up});
    if (!is_unsigned(d.type)) {
      const Name by_minus_one = n.add("Equal", {d.b, n.out().number(-1, d.type)});
      y = n.add("Where", {by_minus_one, n.add("Sub", {d.zero, d.a}), y});
    }
    y = n.add("Where", {n.add("Equal", {d.b, d.zero}), d.zero, y});
    return {n.out().cast(y, d.type, n.result().dtype)};
  }
  const Name a = n.as_result(0), b = n.as_result(1), zero = n.number(0);
  const Name m = n.add("Mod", {a, b}, {{"fmod", std::int64_t{1}}});
  const Name up = n.add("Where", {across_zero(n, m, b, zero), n.number(1), zero});
  const Name whole = n.add("Round", {n.add("Sub", {n.add("Div", {n.add("Sub", {a, m}), b}), up})});
  return {n.add("Where", {n.add("Equal", {b, zero}), n.add("Div", {a, b}), whole})};
}

// BitShift takes unsigned integers and counts below their width. Where and comparisons take i64.
Names shifted(const ExportedNode& n, bool left) {
  GraphExport& out = n.out();
  const DType dtype = n.result().dtype;
  const auto wide = [&](std::size_t i) { return out.cast(n.as_result(i), dtype, DType::i64); };
  const Name zero = out.number(0, DType::i64), a = wide(0), b = wide(1);
  const Name width = out.number(8.0 * static_cast<double>(size_of(dtype)), DType::i64);
  const Name far = n.add("Or", {n.add("Less", {b, zero}), n.add("GreaterOrEqual", {b, width})});
  const Name count = out.cast(n.add("Where", {far, zero, b}), DType::i64, DType::u64);
  const auto moved = [&](Name x) {
    const Name y =
        n.add("BitShift", {out.cast(x, DType::i64, DType::u64), count}, {{"direction", left ? "LEFT" : "RIGHT"}});
    return n.add("Where", {far, zero, out.cast(y, DType::u64, DType::i64)});
  };
  if (left || is_unsigned(dtype)) return {out.cast(moved(a), DType::i64, dtype)};
  // The sign fills in: of a negative number zeros fill in to what it is with its bits turned.
  const Name negative = n.add("Less", {a, zero});
  const Name y = moved(n.add("Where", {negative, n.add("BitwiseNot", {a}), a}));
  return {out.cast(n.add("Where", {negative, n.add("BitwiseNot", {y}), y}), DType::i64, dtype)};
}
Names left_shift(const ExportedNode& n) { return shifted(n, true); }
Names right_shift(const ExportedNode& n) { return shifted(n, false); }

/// True of negative numbers and of minus zero.
Name has_sign(const ExportedNode& n, Name x) {
  const Name zero = n.number(0);
  const Name minus_zero = n.add("And", {n.add("Equal", {x, zero}), n.add("Less", {n.add("Reciprocal", {x}), zero})});
  return n.add("Or", {n.add("Less", {x, zero}), minus_zero});
}
Name with_sign_of(const ExportedNode& n, Name size, Name sign) {
  return n.add("Where", {has_sign(n, sign), n.add("Neg", {size}), size});
}
Names copysign(const ExportedNode& n) { return {with_sign_of(n, n.add("Abs", {n.as_result(0)}), n.as_result(1))}; }

/// Two sizes: the larger, and the smaller over it, where infinity over infinity is 1 and zero over zero 0.
struct Ratio {
  Name larger, ratio;
};
Ratio ratio_of(const ExportedNode& n, Name a, Name b) {
  const Name larger = n.add("Max", {a, b}), smaller = n.add("Min", {a, b});
  const Name ratio = n.add("Where", {n.add("Equal", {smaller, larger}), n.number(1), n.add("Div", {smaller, larger})});
  return {larger, n.add("Where", {n.add("Equal", {larger, n.number(0)}), n.number(0), ratio})};
}

// Infinite where one operand is, even if the other is NaN.
Names hypot(const ExportedNode& n) {
  const Name a = n.as_result(0), b = n.as_result(1);
  const Ratio r = ratio_of(n, n.add("Abs", {a}), n.add("Abs", {b}));
  const Name square = n.add("Mul", {r.ratio, r.ratio});
  const Name y = n.add("Mul", {r.larger, n.add("Sqrt", {n.add("Add", {n.number(1), square})})});
  return {n.add("Where", {n.add("Or", {n.add("IsInf", {a}), n.add("IsInf", {b})}),
                          n.number(std::numeric_limits<double>::infinity()), y})};
}

// The angle within an eighth of the circle, reflected to where the point lies.
Names atan2(const ExportedNode& n) {
  const Name y = n.as_result(0), x = n.as_result(1), height = n.add("Abs", {y}), width = n.add("Abs", {x});
  const Name eighth = n.add("Atan", {ratio_of(n, height, width).ratio});
  const Name quarter = n.add(
      "Where", {n.add("Greater", {height, width}), n.add("Sub", {n.number(std::numbers::pi / 2), eighth}), eighth});
  const Name half = n.add("Where", {has_sign(n, x), n.add("Sub", {n.number(std::numbers::pi), quarter}), quarter});
  return {with_sign_of(n, half, y)};
}

Names extreme_but_nan(const ExportedNode& n) {
  const Name a = n.as_result(0), b = n.as_result(1), y = n.add(n.word_of_row(), {a, b});
  if (is_whole(n)) return {y};
  return {n.add("Where", {n.add("IsNaN", {a}), b, n.add("Where", {n.add("IsNaN", {b}), a, y})})};
}

// exp(x) - 1 = tanh(x / 2) (exp(x) + 1) keeps the digits of small x.
Names expm1(const ExportedNode& n) {
  const Name x = n.as_result(0);
  const Name slope = n.add("Tanh", {n.add("Mul", {x, n.number(0.5)})});
  return {n.add("Mul", {slope, n.add("Add", {n.add("Exp", {x}), n.number(1)})})};
}

// log(1 + x) = 2 atanh(x / (2 + x)) does so too; far from zero the plain formula is right.
Names log1p(const ExportedNode& n) {
  const Name x = n.as_result(0), two = n.number(2);
  const Name near = n.add("Mul", {two, n.add("Atanh", {n.add("Div", {x, n.add("Add", {x, two})})})});
  const Name far = n.add("Log", {n.add("Add", {x, n.number(1)})});
  return {n.add("Where", {n.add("Less", {n.add("Abs", {x}), n.number(0.5)}), near, far})};
}

// Equal infinities have no difference.
Names logaddexp(const ExportedNode& n) {
  const Name a = n.as_result(0), b = n.as_result(1);
  const Name apart = n.add("Where", {n.add("Equal", {a, b}), n.number(0), n.add("Sub", {a, b})});
  return {n.add("Add", {n.add("Max", {a, b}), n.add("Softplus", {n.add("Neg", {n.add("Abs", {apart})})})})};
}

Names erfc(const ExportedNode& n) { return {n.add("Sub", {n.number(1), n.add("Erf", {n.as_result(0)})})}; }

// A power, then a step of Newton's, since a third has no exact exponent; zeros and infinities are roots of themselves.
Names cbrt(const ExportedNode& n) {
  const Name x = n.as_result(0);
  const Name y = n.add("Mul", {n.add("Sign", {x}), n.add("Pow", {n.add("Abs", {x}), n.number(1.0 / 3)})});
  const Name error = n.add("Sub", {y, n.add("Div", {n.add("Div", {x, y}), y})});
  const Name better = n.add("Sub", {y, n.add("Mul", {error, n.number(1.0 / 3)})});
  return {n.add("Where", {n.add("Or", {n.add("Equal", {x, n.number(0)}), n.add("IsInf", {x})}), x, better})};
}

Names multiplied_and_added(const ExportedNode& n) {
  return {n.add("Add", {n.add("Mul", {n.as_result(0), n.as_result(1)}), n.as_result(2)})};
}

constexpr ExportRow arithmetic_export_table[] = {
    {"atan2", atan2, nullptr, Precision::single},
    {"cbrt", cbrt, nullptr, Precision::single},
    {"copysign", copysign},
    {"erfc", erfc, nullptr, Precision::single},
    {"expm1", expm1, nullptr, Precision::single},
    {"floor_divide", floor_divide},
    {"fmax", extreme_but_nan, "Max"},
    {"fmin", extreme_but_nan, "Min"},
    {"fma", multiplied_and_added, nullptr, Precision::single},
    {"fmod", fmod},
    {"hypot", hypot, nullptr, Precision::single},
    {"left_shift", left_shift},
    {"log1p", log1p, nullptr, Precision::single},
    {"logaddexp", logaddexp, nullptr, Precision::single},
    {"remainder", remainder},
    {"right_shift", right_shift},
};

}  // namespace

std::span<const ExportRow> arithmetic_exports() { return arithmetic_export_table; }

}  // namespace tyto::onnx
