// A product takes longer than a sum or a shift, and these longer than nothing.
#include "core/simpler_instruction.hpp"

#include <algorithm>
#include <bit>

#include "core/op_ids.hpp"

namespace tyto::core {

namespace {

std::optional<SimplerInstruction> of_one_term(DType type, OpId op, const LinearInteger& linear,
                                              std::span<const LinearInteger> operands) {
  const auto [base, factor] = linear.terms()[0];
  const std::int64_t number = number_of(type, linear.added);
  if (factor == 1) return SimplerInstruction{OpId::add, base, {}, number};
  if (factor == all_bits(type)) return SimplerInstruction{OpId::subtract, base, {}, number, true};
  if (linear.added != 0) return std::nullopt;
  if (std::has_single_bit(factor)) return SimplerInstruction{OpId::left_shift, base, {}, std::countr_zero(factor)};
  // Only in place of other products: a product takes longer than sums and shifts.
  const auto multiplies = [](const LinearInteger& operand) {
    return std::ranges::any_of(operand.terms(), [](const auto& term) { return !std::has_single_bit(term.factor); });
  };
  if (op != OpId::multiply && std::ranges::none_of(operands, multiplies)) return std::nullopt;
  return SimplerInstruction{OpId::multiply, base, {}, number_of(type, factor)};
}

std::optional<SimplerInstruction> of_two_terms(DType type, const LinearInteger& linear) {
  if (linear.terms().size() != 2 || linear.added != 0) return std::nullopt;
  const auto [a, factor_a] = linear.terms()[0];
  const auto [b, factor_b] = linear.terms()[1];
  const std::uint64_t negative = all_bits(type);
  if (factor_a == 1 && factor_b == 1) return SimplerInstruction{OpId::add, a, b};
  if (factor_a == 1 && factor_b == negative) return SimplerInstruction{OpId::subtract, a, b};
  if (factor_a == negative && factor_b == 1) return SimplerInstruction{OpId::subtract, b, a};
  return std::nullopt;
}

std::optional<std::size_t> extreme(OpId op, const KnownInteger& a, const KnownInteger& b) {
  if (a.low >= b.high) return op == OpId::maximum ? 0 : 1;
  if (b.low >= a.high) return op == OpId::maximum ? 1 : 0;
  return std::nullopt;
}

/// A mask that takes nothing away, or adds nothing.
std::optional<std::size_t> covering(OpId op, const KnownInteger& a, const KnownInteger& b) {
  const bool both = op == OpId::bitwise_and;
  if (both ? (~a.zeros & ~b.ones) == 0 : (~b.zeros & ~a.ones) == 0) return 0;
  if (both ? (~b.zeros & ~a.ones) == 0 : (~a.zeros & ~b.ones) == 0) return 1;
  return std::nullopt;
}

}  // namespace

std::optional<SimplerInstruction> simpler_sum(const IntegerFacts& facts, LoopValue value,
                                              std::span<const LoopValue> from) {
  const LinearInteger& linear = facts.linear[value];
  const std::span<const LinearInteger::Term> terms = linear.terms();
  std::vector<LinearInteger> operands;
  std::size_t read = 0;
  for (const LoopValue operand : from) {
    operands.push_back(facts.linear[operand]);
    read += operands.back().is_number() ? 0 : 1;
  }
  const auto is_read = [&](const LinearInteger::Term& term) {
    return std::ranges::find(from, term.base) != from.end();
  };
  if (read == terms.size() && std::ranges::all_of(terms, is_read)) return std::nullopt;
  if (terms.size() == 1) return of_one_term(facts.types[value], facts.op_of(value), linear, operands);
  return of_two_terms(facts.types[value], linear);
}

std::optional<SimplerInstruction> simpler_quotient(OpId op, std::span<const LoopValue> from,
                                                   std::span<const std::optional<KnownInteger>> operands) {
  if (op != OpId::floor_divide && op != OpId::remainder) return std::nullopt;
  if (!operands[1]->is_one_number() || operands[1]->low <= 0) return std::nullopt;
  const auto divisor = static_cast<std::uint64_t>(operands[1]->low);
  if (!std::has_single_bit(divisor)) return std::nullopt;
  if (op == OpId::remainder)
    return SimplerInstruction{OpId::bitwise_and, from[0], {}, static_cast<std::int64_t>(divisor - 1)};
  return SimplerInstruction{OpId::right_shift, from[0], {}, std::countr_zero(divisor)};
}

std::optional<std::size_t> operand_it_is(OpId op, std::span<const std::optional<KnownInteger>> operands) {
  const auto is_known = [&](std::size_t i) { return i < operands.size() && operands[i].has_value(); };
  if (op == OpId::where) {
    if (!is_known(0) || !operands[0]->is_one_number()) return std::nullopt;
    return operands[0]->low != 0 ? 1 : 2;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!is_known(i)) return std::nullopt;
  }
  const KnownInteger& a = *operands[0];
  switch (op) {
    case OpId::abs:
    case OpId::relu: return a.low >= 0 ? std::optional<std::size_t>(0) : std::nullopt;
    case OpId::sign: return a.low >= -1 && a.high <= 1 ? std::optional<std::size_t>(0) : std::nullopt;
    case OpId::clip:
      return a.low >= operands[1]->high && a.high <= operands[2]->low ? std::optional<std::size_t>(0) : std::nullopt;
    case OpId::maximum:
    case OpId::minimum: return extreme(op, a, *operands[1]);
    case OpId::bitwise_and:
    case OpId::bitwise_or: return covering(op, a, *operands[1]);
    default: return std::nullopt;
  }
}

}  // namespace tyto::core
