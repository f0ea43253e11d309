// What is known of the values of a loop program, and what follows from how they are made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/known_integer.hpp"
#include "core/linear_integer.hpp"
#include "core/loop_program.hpp"

namespace tyto::core {

/// By value. Facts are of the values that are read: where another one stands for a value, of that one.
struct IntegerFacts {
  IntegerFacts(const LoopProgram& of, std::span<const DType> inputs);

  const LoopProgram& program;
  std::vector<DType> types;
  std::vector<LoopValue> stands_for;  ///< the value that is read instead
  std::vector<std::optional<KnownInteger>> known;
  std::vector<LinearInteger> linear;

  bool is_instruction(LoopValue v) const { return v >= program.first_instruction(); }
  OpId op_of(LoopValue v) const { return program.instruction_of(v).op; }
  std::size_t operands_of(LoopValue v) const { return program.operands_of(v).size(); }
  /// The value that stands for an operand of an instruction.
  LoopValue operand_of(LoopValue v, std::size_t i) const { return stands_for[program.operands_of(v)[i]]; }
  bool is_integer(LoopValue v) const { return types[v] != DType::boolean && any_of(types[v]).has_value(); }
  bool is_number(LoopValue v) const { return known[v] && known[v]->is_one_number(); }
};

/// What is known of a value, of which this much is known anyway, where a condition is true, or where it is not. Of
/// conditions that are made of others, so many are looked into one after the other.
KnownInteger known_under(const IntegerFacts& facts, LoopValue condition, bool holds, LoopValue value,
                         const KnownInteger& known, int depth = 4);

/// The truth of a comparison that the order of its operands decides: what minima and maxima are made of.
std::optional<bool> known_order(const IntegerFacts& facts, OpId comparison, std::span<const LoopValue> operands);

/// Which operand a minimum or maximum always is.
std::optional<std::size_t> known_extreme(const IntegerFacts& facts, OpId op, std::span<const LoopValue> operands);

}  // namespace tyto::core
