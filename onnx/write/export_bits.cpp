// SPDX-License-Identifier: MIT
// Exports functions of bits, exponents and divisors, exact for every element: ONNX has neither bits of floating-point
// numbers nor common divisors.
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "onnx/write/export.hpp"

namespace tyto::onnx {

namespace {

Name whole(const ExportedNode& n, std::int64_t value, DType type = DType::i64) { return n.out().number(value, type); }

/// Powers of two that are normal numbers of f32 or f64, looked up by their exponents: those of Pow may be rounded.
class PowersOfTwo {
 public:
  explicit PowersOfTwo(const ExportedNode& n) : n_(n), largest_(n.computed_in() == DType::f64 ? 1022 : 126) {
    std::vector<double> powers;
    for (std::int64_t e = -largest_; e <= largest_; ++e) powers.push_back(std::ldexp(1.0, static_cast<int>(e)));
    const auto count = static_cast<std::int64_t>(powers.size());
    table_ = n.out().constant(Tensor<Eager>::from(powers, {count}).astype(n.computed_in()));
  }

  std::int64_t largest() const { return largest_; }
  Name of(Name exponents) const { return n_.add("Gather", {table_, n_.add("Add", {exponents, whole(n_, largest_)})}); }
  /// The exponents cut to those that are looked up.
  Name cut(Name exponents) const {
    return n_.add("Min", {n_.add("Max", {exponents, whole(n_, -largest_)}), whole(n_, largest_)});
  }

 private:
  const ExportedNode& n_;
  std::int64_t largest_;
  Name table_;
};

/// A number as mantissa and exponent (i64); the number itself and 0 where it has none.
struct BinaryParts {
  Name mantissa, exponent;
};

// The exponent by the rounded logarithm, which may be off by one; the mantissa shows whether it is.
BinaryParts parts_of(const ExportedNode& n) {
  constexpr std::int64_t lift = 64;
  const bool wide = n.computed_in() == DType::f64;
  const Name x = n.as_result(0), size = n.add("Abs", {x}), none = whole(n, 0);
  const Name infinity = n.number(std::numeric_limits<double>::infinity());
  const Name has_exponent = n.add("And", {n.add("Greater", {size, n.number(0)}), n.add("Less", {size, infinity})});
  const Name given = n.add("Where", {has_exponent, size, n.number(0.5)});
  // Below the normal numbers logarithms are not to be trusted.
  const Name tiny = n.add("Less", {given, n.number(std::ldexp(1.0, wide ? -1000 : -100))});
  const Name y = n.add("Where", {tiny, n.add("Mul", {given, n.number(std::ldexp(1.0, lift))}), given});
  const Name logarithm = n.add("Mul", {n.add("Log", {y}), n.number(std::numbers::log2e)});
  Name exponent = n.out().cast(n.add("Floor", {logarithm}), n.computed_in(), DType::i64);
  const PowersOfTwo two_to(n);
  const Name first = two_to.cut(n.add("Neg", {exponent}));
  const Name second = n.add("Neg", {n.add("Add", {exponent, first})});
  // Between 1 and 2, or outside where the logarithm was rounded to another integer.
  Name m = n.add("Mul", {n.add("Mul", {y, two_to.of(first)}), two_to.of(second)});
  const Name over = n.add("GreaterOrEqual", {m, n.number(2)}), under = n.add("Less", {m, n.number(1)});
  const auto chosen = [&](Name where_over, Name where_under, Name otherwise) {
    return n.add("Where", {over, where_over, n.add("Where", {under, where_under, otherwise})});
  };
  m = n.add("Mul", {m, chosen(n.number(0.25), n.number(1), n.number(0.5))});
  exponent = n.add("Add", {exponent, chosen(whole(n, 2), none, whole(n, 1))});
  exponent = n.add("Sub", {exponent, n.add("Where", {tiny, whole(n, lift), none})});
  const Name negative = n.add("Less", {x, n.number(0)});
  return {n.add("Where", {has_exponent, n.add("Where", {negative, n.add("Neg", {m}), m}), x}),
          n.add("Where", {has_exponent, exponent, none})};
}

Names frexp_mantissa(const ExportedNode& n) { return {parts_of(n).mantissa}; }
Names frexp_exponent(const ExportedNode& n) {
  return {n.out().cast(parts_of(n).exponent, DType::i64, n.computed_in())};
}

// Three powers reach from the largest number to the least. One that makes a number smaller leaves it as many bits as it
// has, unless what comes out in the end is zero: so the last product alone rounds.
Names ldexp(const ExportedNode& n) {
  const Name x = n.as_result(0), power = n.as_result(1), no_number = n.add("IsNaN", {power});
  const PowersOfTwo two_to(n);
  const std::int64_t most = two_to.largest(), least = (n.computed_in() == DType::f64 ? 53 : 24) - most;
  const double reach = 4.0 * static_cast<double>(most);
  const Name within = n.add("Min", {n.add("Max", {power, n.number(-reach)}), n.number(reach)});
  Name left = n.out().cast(n.add("Where", {no_number, n.number(0), within}), n.computed_in(), DType::i64);
  Name y = x;
  for (int i = 0; i < 2; ++i) {
    const Name far_up = n.add("Greater", {left, whole(n, most)}), far_down = n.add("Less", {left, whole(n, -most)});
    const Name step =
        n.add("Where", {far_up, whole(n, most), n.add("Where", {far_down, whole(n, least), whole(n, 0)})});
    y = n.add("Mul", {y, two_to.of(step)});
    left = n.add("Sub", {left, step});
  }
  y = n.add("Mul", {y, two_to.of(two_to.cut(left))});
  return {n.add("Where", {no_number, power, y})};
}

// Counts of neighbouring bits, pairs, fours and so on are added up side by side.
Names popcount(const ExportedNode& n) {
  constexpr std::int64_t masks[] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
                                    0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
  GraphExport& out = n.out();
  const DType type = n.result().dtype;
  Name y = out.cast(n[0], n.input(0).dtype, DType::i64);
  if (!is_unsigned(type)) y = n.add("Abs", {y});
  const auto bits = static_cast<std::int64_t>(8 * size_of(type));
  std::int64_t distance = 1;
  for (std::size_t i = 0; distance < bits; ++i, distance *= 2) {
    const Name mask = whole(n, masks[i]);
    const Name moved = n.add("BitShift", {out.cast(y, DType::i64, DType::u64), whole(n, distance, DType::u64)},
                             {{"direction", "RIGHT"}});
    y = n.add("Add",
              {n.add("BitwiseAnd", {y, mask}), n.add("BitwiseAnd", {out.cast(moved, DType::u64, DType::i64), mask})});
  }
  return {out.cast(y, DType::i64, type)};
}

/// Operands of one shape and their greatest common divisor. With signs all three are below zero: the least number has
/// no opposite.
struct Divisor {
  DType type;
  Name a, b, divisor;
};

/// The numbers to divide by, with 1 for 0 and -1: neither may be divided by (export_arithmetic.cpp).
Name safe_divisor(const ExportedNode& n, GraphExport& graph, Name x, DType type) {
  Name unsafe = graph.node("Equal", {x, whole(n, 0, type)});
  if (!is_unsigned(type)) unsafe = graph.node("Or", {unsafe, graph.node("Equal", {x, whole(n, -1, type)})});
  return graph.node("Where", {unsafe, whole(n, 1, type), x});
}

/// True while one of the numbers is not zero.
Name is_left(const ExportedNode& n, GraphExport& graph, Name x, DType type) {
  const Name done = graph.cast(graph.node("Equal", {x, whole(n, 0, type)}), DType::boolean, DType::i32);
  return graph.node("Less",
                    {graph.node("ReduceMin", {done}, {{"keepdims", std::int64_t{0}}}), whole(n, 1, DType::i32)});
}

// Euclid's steps, until all are done. Neighbouring Fibonacci numbers take most: 92 of 64 bits.
Divisor common_divisor(const ExportedNode& n) {
  GraphExport& out = n.out();
  const DType type = n.result().dtype == DType::u64 ? DType::u64 : DType::i64;
  const auto operand = [&](std::size_t i) {
    Name x = out.cast(n[i], n.input(i).dtype, type);
    if (!is_unsigned(type)) x = n.add("Neg", {n.add("Abs", {x})});
    return n.input(i).shape == n.result().shape ? x : n.add("Expand", {x, out.integers(n.result().shape)});
  };
  Divisor d{.type = type, .a = operand(0), .b = operand(1), .divisor = Name::none};

  const ListedTensor count{DType::i64, {}}, truth{DType::boolean, {}}, numbers{type, n.result().shape};
  const GraphListing nothing;
  GraphExport body(nothing, out);
  body.add_input(count);
  body.add_input(truth);
  const Name a = body.add_input(numbers), b = body.add_input(numbers);
  const Name rest = body.node("Mod", {a, safe_divisor(n, body, b, type)});
  body.add_output(is_left(n, body, rest, type), truth);
  body.add_output(body.node("Where", {body.node("Equal", {b, whole(n, 0, type)}), a, b}), numbers);
  body.add_output(rest, numbers);
  d.divisor = out.nodes("Loop", {whole(n, 96), is_left(n, out, d.b, type), d.a, d.b}, 2, {{"body", body.graph()}})[0];
  return d;
}

Names gcd(const ExportedNode& n) {
  const Divisor d = common_divisor(n);
  const Name y = is_unsigned(d.type) ? d.divisor : n.add("Neg", {d.divisor});
  return {n.out().cast(y, d.type, n.result().dtype)};
}

// Wraps, as products do.
Names lcm(const ExportedNode& n) {
  const Divisor d = common_divisor(n);
  Name quotient = n.add("Div", {d.a, safe_divisor(n, n.out(), d.divisor, d.type)});
  if (!is_unsigned(d.type)) {
    const Name by_minus_one = n.add("Equal", {d.divisor, whole(n, -1, d.type)});
    quotient = n.add("Where", {by_minus_one, n.add("Neg", {d.a}), quotient});
  }
  const Name product = n.add("Mul", {quotient, d.b});
  return {n.out().cast(is_unsigned(d.type) ? product : n.add("Neg", {product}), d.type, n.result().dtype)};
}

constexpr ExportRow bits_export_table[] = {
    {"frexp_exponent", frexp_exponent, nullptr, Precision::single},
    {"frexp_mantissa", frexp_mantissa, nullptr, Precision::single},
    {"gcd", gcd},
    {"lcm", lcm},
    {"ldexp", ldexp, nullptr, Precision::single},
    {"popcount", popcount},
};

}  // namespace

std::span<const ExportRow> bits_exports() { return bits_export_table; }

}  // namespace tyto::onnx
