// Rules look at how a few values before were made, and no further.
#include "core/integer_facts.hpp"

#include "core/op_ids.hpp"

namespace tyto::core {

namespace {

bool is_comparison(OpId op) {
  using enum OpId;
  return op == equal || op == not_equal || op == less || op == less_equal || op == greater || op == greater_equal;
}
bool is_non_negative(const IntegerFacts& facts, LoopValue v) { return facts.known[v] && facts.known[v]->low >= 0; }
/// Whether the value is no larger than its operand.
bool is_upper_limit(const IntegerFacts& facts, LoopValue v, std::size_t i) {
  switch (facts.op_of(v)) {
    case OpId::minimum: return true;
    case OpId::clip: return i == 2;
    case OpId::bitwise_and: return is_non_negative(facts, facts.operand_of(v, i));
    default: return false;
  }
}
/// Whether the value is no smaller than any of its operands.
bool is_lower_limit(const IntegerFacts& facts, LoopValue v) {
  switch (facts.op_of(v)) {
    case OpId::maximum:
    case OpId::relu: return true;
    case OpId::bitwise_or:
      return is_non_negative(facts, facts.operand_of(v, 0)) && is_non_negative(facts, facts.operand_of(v, 1));
    default: return false;
  }
}

/// Whether one integer is never larger than another, by what they are made of.
bool is_at_most(const IntegerFacts& facts, LoopValue a, LoopValue b, int depth = 3) {
  if (a == b || (facts.known[a] && facts.known[b] && facts.known[a]->high <= facts.known[b]->low)) return true;
  if (depth == 0) return false;
  if (facts.is_instruction(a)) {
    const std::size_t operands = facts.operands_of(a);
    for (std::size_t i = 0; i < operands; ++i) {
      const LoopValue operand = facts.operand_of(a, i);
      if (facts.types[operand] == facts.types[a] && is_upper_limit(facts, a, i) &&
          is_at_most(facts, operand, b, depth - 1))
        return true;
    }
  }
  if (facts.is_instruction(b) && is_lower_limit(facts, b)) {
    const std::size_t operands = facts.operands_of(b);
    for (std::size_t i = 0; i < operands; ++i) {
      const LoopValue operand = facts.operand_of(b, i);
      if (facts.types[operand] == facts.types[b] && is_at_most(facts, a, operand, depth - 1)) return true;
    }
  }
  return false;
}

}  // namespace

IntegerFacts::IntegerFacts(const LoopProgram& of, std::span<const DType> inputs)
    : program(of), types(value_types(of, inputs)) {
  for (std::size_t v = 0; v < of.values(); ++v) {
    stands_for.push_back(static_cast<LoopValue>(v));
    linear.push_back(LinearInteger::of(static_cast<LoopValue>(v)));
  }
}

KnownInteger known_under(const IntegerFacts& facts, LoopValue condition, bool holds, LoopValue value,
                         const KnownInteger& known, int depth) {
  if (depth == 0) return known;
  if (!facts.is_instruction(condition) || facts.types[condition] != DType::boolean) return known;
  const std::size_t operands = facts.operands_of(condition);
  const OpId op = facts.op_of(condition);
  const LoopValue a = facts.operand_of(condition, 0), b = facts.operand_of(condition, operands - 1);
  if (op == OpId::logical_not && facts.types[a] == DType::boolean)
    return known_under(facts, a, !holds, value, known, depth - 1);
  if (op == (holds ? OpId::logical_and : OpId::logical_or))
    return known_under(facts, b, holds, value, known_under(facts, a, holds, value, known, depth - 1), depth - 1);
  if (operands != 2 || facts.types[a] != facts.types[b] || !facts.known[a] || !facts.known[b]) return known;
  std::optional<KnownInteger> less;
  if (a == value && is_comparison(op)) less = known_where(op, holds, known, *facts.known[b]);
  else if (b == value && is_comparison(op)) less = known_where(mirrored(op), holds, known, *facts.known[a]);
  return less ? *less : known;
}

std::optional<bool> known_order(const IntegerFacts& facts, OpId op, std::span<const LoopValue> operands) {
  if (!is_comparison(op) || !facts.is_integer(operands[0]) || facts.types[operands[0]] != facts.types[operands[1]])
    return std::nullopt;
  const LoopValue a = operands[0], b = operands[1];
  const auto decided = [](bool found, bool value) { return found ? std::optional(value) : std::nullopt; };
  switch (op) {
    case OpId::equal: return decided(a == b, true);
    case OpId::not_equal: return decided(a == b, false);
    case OpId::less: return decided(is_at_most(facts, b, a), false);
    case OpId::less_equal: return decided(is_at_most(facts, a, b), true);
    case OpId::greater: return decided(is_at_most(facts, a, b), false);
    default: return decided(is_at_most(facts, b, a), true);
  }
}

std::optional<std::size_t> known_extreme(const IntegerFacts& facts, OpId op, std::span<const LoopValue> operands) {
  if (op != OpId::minimum && op != OpId::maximum) return std::nullopt;
  if (!facts.is_integer(operands[0]) || facts.types[operands[0]] != facts.types[operands[1]]) return std::nullopt;
  if (is_at_most(facts, operands[0], operands[1])) return op == OpId::minimum ? 0 : 1;
  if (is_at_most(facts, operands[1], operands[0])) return op == OpId::minimum ? 1 : 0;
  return std::nullopt;
}

}  // namespace tyto::core
