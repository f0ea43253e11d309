// SPDX-License-Identifier: MIT
// Patterns and replacements of rules, parsed to trees of terms.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/operator.hpp"

namespace tyto::optimiser {

/// One term: a letter, a number, or an operator applied to terms. rule.hpp says how they are written.
struct Term {
  enum class Kind : std::uint8_t { tensor, number, literal, application };
  static constexpr char first_number = 'C', last_number = 'D';

  Kind kind = Kind::tensor;
  char letter = 'x';
  Scalar value;
  core::OpId op = core::no_operator;
  bool sole = false;
  bool open = false;  // any further operands may follow
  std::vector<Term> operands;
};

/// Reads a whole text. `each` is the operator that `op` stands for, or null in a rule that names its operators.
Term read_term(std::string_view text, const core::OpDef* each);

/// All ways to write the term with operands of commutative operators exchanged, so that matching need not try.
std::vector<Term> orderings(const Term& term);

}  // namespace tyto::optimiser
