// Integers as what sums, differences and products by numbers make of others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/loop_program.hpp"

namespace tyto::core {

/// The sum of factor * base of each term, and a number, in arithmetic that wraps round at the width of its type, of
/// whose bits alone numbers are. A number where there are no terms.
struct LinearInteger {
  struct Term {
    LoopValue base = 0;
    std::uint64_t factor = 1;
  };
  static constexpr std::size_t most_terms = 4;

  std::array<Term, most_terms> all = {};  // ascending bases
  std::size_t count = 0;
  std::uint64_t added = 0;

  std::span<const Term> terms() const { return {all.data(), count}; }
  bool is_number() const { return count == 0; }

  static LinearInteger of(LoopValue base) { return {{Term{base, 1}}, 1, 0}; }
  static LinearInteger of_number(DType type, std::int64_t number);
};

/// What an operator makes of operands that all have the type, an integer one; nothing where that is not linear, or has
/// too many terms.
std::optional<LinearInteger> linear_result(OpId op, DType type, std::span<const LinearInteger> operands);

/// All bits that a number of the type has: those of -1.
std::uint64_t all_bits(DType type);

/// The number of the type that has these bits.
std::int64_t number_of(DType type, std::uint64_t bits);

}  // namespace tyto::core
