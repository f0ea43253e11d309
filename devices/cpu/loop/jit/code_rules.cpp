// SPDX-License-Identifier: MIT
// Peephole rules applied while code is built: constant folding, and cheaper instructions.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "devices/cpu/loop/jit/code.hpp"

namespace tyto::cpu::jit {

namespace {

constexpr std::uint64_t sign_of(Lane lane) { return is_wide(lane) ? std::uint64_t{1} << 63 : std::uint64_t{1} << 31; }

bool commutes(Op op) {
  switch (op) {
    case Op::add:
    case Op::multiply:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::minimum:
    case Op::maximum: return true;
    default: return false;
  }
}

double number(Lane lane, std::uint64_t bits) {
  if (lane == Lane::f32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return std::bit_cast<double>(bits);
}
std::int64_t whole(Lane lane, std::uint64_t bits) {
  return is_wide(lane) ? static_cast<std::int64_t>(bits) : static_cast<std::int32_t>(bits);
}

/// The result of arithmetic in the lane's own precision.
std::optional<std::uint64_t> calculated(Op op, Lane lane, std::uint64_t a, std::uint64_t b) {
  if (is_float(lane)) {
    const auto compute = [&]<class T>(T x, T y) -> std::optional<T> {
      switch (op) {
        case Op::add: return x + y;
        case Op::subtract: return x - y;
        case Op::multiply: return x * y;
        case Op::divide: return x / y;
        case Op::square_root: return std::sqrt(x);
        default: return {};
      }
    };
    if (lane == Lane::f32) {
      const auto result = compute(std::bit_cast<float>(static_cast<std::uint32_t>(a)),
                                  std::bit_cast<float>(static_cast<std::uint32_t>(b)));
      if (result) return std::bit_cast<std::uint32_t>(*result);
    } else if (const auto result = compute(std::bit_cast<double>(a), std::bit_cast<double>(b))) {
      return std::bit_cast<std::uint64_t>(*result);
    }
    if (op != Op::bit_and && op != Op::bit_or && op != Op::bit_xor) return {};
  }
  switch (op) {
    case Op::add: return a + b;
    case Op::subtract: return a - b;
    case Op::multiply: return a * b;
    case Op::bit_and: return a & b;
    case Op::bit_or: return a | b;
    case Op::bit_xor: return a ^ b;
    case Op::minimum: return whole(lane, a) < whole(lane, b) ? a : b;
    case Op::maximum: return whole(lane, a) < whole(lane, b) ? b : a;
    default: return {};
  }
}

std::optional<bool> compared(Op op, Lane lane, std::uint64_t a, std::uint64_t b) {
  const auto decide = [&](auto x, auto y) -> std::optional<bool> {
    switch (op) {
      case Op::equal: return x == y;
      case Op::not_equal: return x != y;
      case Op::less: return x < y;
      case Op::less_equal: return x <= y;
      default: return {};
    }
  };
  return is_float(lane) ? decide(number(lane, a), number(lane, b)) : decide(whole(lane, a), whole(lane, b));
}

std::optional<std::uint64_t> converted(Lane from, Lane to, std::uint64_t bits) {
  if (is_mask(from) || is_mask(to)) return {};
  if (!is_float(to)) {
    if (is_float(from)) return {};
    return static_cast<std::uint64_t>(whole(from, bits)) & all_of(to);
  }
  if (to == Lane::f64) {
    return std::bit_cast<std::uint64_t>(is_float(from) ? number(from, bits) : static_cast<double>(whole(from, bits)));
  }
  const float value = is_float(from) ? static_cast<float>(number(from, bits)) : static_cast<float>(whole(from, bits));
  return std::bit_cast<std::uint32_t>(value);
}

}  // namespace

/// The quotient towards zero of integers of 32 bits, computed in f64 as `quotient` says, where the divisor d is a
/// number: a product with a reciprocal, which is rounded away from zero. Where a / d is an integer the product is no
/// smaller, and elsewhere it is larger by 2^31 / d * 2^-51 at most, where the next integer is 1 / d away at least.
Value CodeBuilder::quotient_by_number(Value quotient) {
  const Instruction division = code_[quotient];
  if (division.op != Op::divide || division.lane != Lane::f64 || !is_constant(division.operands[1])) return no_value;
  const Instruction dividend = code_[division.operands[0]];
  if (dividend.op != Op::convert || code_[dividend.operands[0]].lane != Lane::i32) return no_value;
  const double divisor = number(Lane::f64, bits(division.operands[1]));
  if (std::trunc(divisor) != divisor || std::abs(divisor) < 1 || std::abs(divisor) > 0x1p31) return no_value;
  const double reciprocal = std::nextafter(1 / divisor, std::copysign(HUGE_VAL, divisor));
  const Value product = apply(Op::multiply, Lane::f64, division.operands[0],
                              constant(Lane::f64, std::bit_cast<std::uint64_t>(reciprocal)));
  return add({Op::convert, Lane::i32, {product, no_value, no_value}, 0});
}

/// x 2^exponent by two factors, each a normal number, so that only the last product rounds: scale_shifted() of
/// vector_math/bits.hpp, whose loops take these steps.
Value CodeBuilder::scaled_in_two(Lane lane, Value x, Value exponent) {
  const bool wide = is_wide(lane);
  const Lane bits = wide ? Lane::i64 : Lane::i32;
  const std::uint64_t mantissa = wide ? 52 : 23, twice_bias = wide ? 2046 : 254;
  // A sum from which on there are no fractions: its low bits are those of the exponent.
  const std::uint64_t shifter = wide ? std::bit_cast<std::uint64_t>(0x1.8p52) : std::bit_cast<std::uint32_t>(0x1.8p23f);
  const auto shifted = [&](Op op, Value value, std::uint64_t count) {
    return apply(op, bits, value, no_value, no_value, count);
  };
  const auto power = [&](Value biased) {
    return apply(Op::reinterpret, lane, shifted(Op::shift_left, biased, mantissa));
  };
  const Value sum = apply(Op::reinterpret, bits, apply(Op::add, lane, exponent, constant(lane, shifter)));
  const Value both = apply(Op::add, bits, sum, constant(bits, twice_bias - shifter));
  const Value half = shifted(Op::shift_right, both, 1);
  const Value first = apply(Op::multiply, lane, x, power(half));
  return apply(Op::multiply, lane, first, power(apply(Op::subtract, bits, both, half)));
}

/// The value that an instruction simplifies to (an operand, a constant, a cheaper instruction), or none.
Value CodeBuilder::folded(const Instruction& instruction) {
  const auto [a, b, c] = instruction.operands;
  const auto known = [&](Value value) { return value != no_value && is_constant(value); };
  const auto is_zero = [&](Value value) { return known(value) && bits(value) == 0; };
  const auto is_full = [&](Value value) { return known(value) && bits(value) == all_of(code_[value].lane); };
  const Lane from = a == no_value ? instruction.lane : code_[a].lane;
  if (known(a) && !known(b) && commutes(instruction.op) && !is_float(instruction.lane)) {
    return apply(instruction.op, instruction.lane, b, a);  // constants come second
  }
  const auto is_negated = [&](Value value) {
    if (value == no_value) return false;
    const Instruction& each = code_[value];
    return each.op == Op::bit_xor && is_float(each.lane) && known(each.operands[1]) &&
           bits(each.operands[1]) == sign_of(each.lane);
  };
  switch (instruction.op) {
    case Op::reinterpret:
      if (known(a)) return constant(instruction.lane, bits(a));
      if (code_[a].op == Op::reinterpret) {
        const Value origin = code_[a].operands[0];
        if (code_[origin].lane == instruction.lane) return origin;
        return add({Op::reinterpret, instruction.lane, {origin, no_value, no_value}, 0});
      }
      return no_value;
    case Op::convert:
      if (from == instruction.lane) return a;
      if (known(a)) {
        if (const auto value = converted(from, instruction.lane, bits(a))) return constant(instruction.lane, *value);
      }
      if (instruction.lane == Lane::i32) return quotient_by_number(a);
      return no_value;
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
      if (known(a) && known(b)) {
        if (const auto value = compared(instruction.op, from, bits(a), bits(b))) {
          return constant(instruction.lane, *value ? ~std::uint64_t{0} : 0);
        }
      }
      return no_value;
    case Op::select:
      if (is_zero(a)) return c;
      if (known(a)) return b;
      if (b == c) return b;
      // The processor's minimum and maximum return the same operand where both are equal or either is NaN.
      if (code_[a].op == Op::less && is_float(instruction.lane)) {
        const Value low = code_[a].operands[0], high = code_[a].operands[1];
        if (b == low && c == high) return apply(Op::minimum, instruction.lane, low, high);
        if (b == high && c == low) return apply(Op::maximum, instruction.lane, high, low);
      }
      // For integers either order of the operands is a maximum or a minimum.
      if (instruction.lane == Lane::i32 && code_[a].op == Op::less && code_[code_[a].operands[0]].lane == Lane::i32) {
        const Value low = code_[a].operands[0], high = code_[a].operands[1];
        if (b == high && c == low) return apply(Op::maximum, instruction.lane, low, high);
        if (b == low && c == high) return apply(Op::minimum, instruction.lane, low, high);
        const bool negates = code_[b].op == Op::subtract && is_zero(code_[b].operands[0]);
        if (c == low && is_zero(high) && negates && code_[b].operands[1] == low)
          return apply(Op::absolute, instruction.lane, low);
      }
      return no_value;
    case Op::multiply_add:
      if (is_negated(c)) return apply(Op::multiply_subtract, instruction.lane, a, b, code_[c].operands[0]);
      if (is_negated(a)) return apply(Op::multiply_add_negated, instruction.lane, code_[a].operands[0], b, c);
      if (is_negated(b)) return apply(Op::multiply_add_negated, instruction.lane, a, code_[b].operands[0], c);
      return no_value;
    case Op::scale: return scales_ ? no_value : scaled_in_two(instruction.lane, a, b);
    case Op::multiply: {
      if (is_float(instruction.lane)) break;
      // Products of 32 or 64 bits take several times as long as shifts.
      const auto shifted = [&](Value value, Value factor) {
        if (!known(factor) || known(value) || !std::has_single_bit(bits(factor))) return no_value;
        const auto count = static_cast<std::uint64_t>(std::countr_zero(bits(factor)));
        return count == 0 ? value : apply(Op::shift_left, instruction.lane, value, no_value, no_value, count);
      };
      if (const Value value = shifted(a, b); value != no_value) return value;
      if (const Value value = shifted(b, a); value != no_value) return value;
      break;
    }
    case Op::divide: {
      // Division by a power of two equals the product with its reciprocal, rounded in the same way.
      if (!known(b) || known(a)) break;
      const double divisor = number(instruction.lane, bits(b)), reciprocal = 1 / divisor;
      int exponent = 0;
      if (std::abs(std::frexp(divisor, &exponent)) != 0.5 || std::abs(exponent) > 120) break;
      const Value factor = instruction.lane == Lane::f32
                               ? constant(Lane::f32, std::bit_cast<std::uint32_t>(static_cast<float>(reciprocal)))
                               : constant(Lane::f64, std::bit_cast<std::uint64_t>(reciprocal));
      return apply(Op::multiply, instruction.lane, a, factor);
    }
    case Op::bit_and:
      if (is_zero(a) || is_full(b)) return a;
      if (is_zero(b) || is_full(a)) return b;
      if (a == b) return a;
      break;
    case Op::bit_or:
      if (is_zero(a) || is_full(b)) return b;
      if (is_zero(b) || is_full(a)) return a;
      if (a == b) return a;
      break;
    case Op::bit_xor:
      if (is_zero(a)) return b;
      if (is_zero(b)) return a;
      if (a == b) return constant(instruction.lane, 0);
      break;
    case Op::shift_left:
      if (known(a)) return constant(instruction.lane, bits(a) << instruction.immediate);
      return no_value;
    case Op::shift_right:
      if (known(a)) return constant(instruction.lane, bits(a) >> instruction.immediate);
      return no_value;
    case Op::shift_left_by:
    case Op::shift_right_signed_by: {
      // Some sets have no signed shift of 64 bits by a number (AVX2).
      const std::uint64_t width = is_wide(instruction.lane) ? 64 : 32;
      const bool left = instruction.op == Op::shift_left_by;
      if (!known(b) || (width == 64 && !left)) return no_value;
      if (bits(b) >= width && left) return constant(instruction.lane, 0);
      const std::uint64_t count = std::min(bits(b), width - 1);
      if (count == 0) return a;
      return apply(left ? Op::shift_left : Op::shift_right_signed, instruction.lane, a, no_value, no_value, count);
    }
    default: break;
  }
  if (known(a) && (known(b) || instruction.op == Op::square_root)) {
    const auto value = calculated(instruction.op, instruction.lane, bits(a), b == no_value ? 0 : bits(b));
    if (value) return constant(instruction.lane, *value);
  }
  return no_value;
}

}  // namespace tyto::cpu::jit
