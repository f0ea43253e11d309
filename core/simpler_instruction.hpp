// Instructions on integers that give what others give, and take less.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/integer_facts.hpp"

namespace tyto::core {

/// An operator on two values, or on a value and a number.
struct SimplerInstruction {
  OpId op;
  LoopValue a;
  std::optional<LoopValue> b = {};
  std::int64_t number = 0;
  bool number_first = false;
};

/// For a value that is linear, of one term or two, and is not made of its terms yet; `from`: what stands for the
/// operands of its instruction.
std::optional<SimplerInstruction> simpler_sum(const IntegerFacts& facts, LoopValue value,
                                              std::span<const LoopValue> from);

/// For quotients and remainders of powers of two, both of which are rounded down.
std::optional<SimplerInstruction> simpler_quotient(OpId op, std::span<const LoopValue> from,
                                                   std::span<const std::optional<KnownInteger>> operands);

/// Which operand the result always is, by what is known of each.
std::optional<std::size_t> operand_it_is(OpId op, std::span<const std::optional<KnownInteger>> operands);

}  // namespace tyto::core
