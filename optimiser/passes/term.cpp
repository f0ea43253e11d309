// SPDX-License-Identifier: MIT
// Parses patterns and replacements from left to right.
#include "optimiser/passes/term.hpp"

#include <utility>

#include "core/system/number_text.hpp"
#include "core/value/text.hpp"

namespace tyto::optimiser {

namespace {

// Bit for bit: of floating-point numbers only -0 added from either side leaves every x as it is, since -0 + 0 is 0.
// Integers have one zero, which matches both.
double identity_of(const core::Traits& traits) {
  if (traits.identity_element == 0.0) return -0.0;
  return traits.identity_element ? *traits.identity_element : traits.right_identity_element.value();
}

class TermParser {
 public:
  TermParser(std::string_view text, const core::OpDef* each) : text_(text), rest_(text), each_(each) {}

  Term read() {
    Term term = read_term();
    if (!rest_.empty()) fail("has something behind its end");
    return term;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    core::throw_error<GraphError>("rule '", text_, "' ", what, " at '", rest_, "'");
  }

  bool skip(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    return true;
  }

  Term read_term() {
    if (rest_.empty()) fail("ends too early");
    const char first = rest_.front();
    if (first == '-' || (first >= '0' && first <= '9')) return read_literal();
    const std::size_t end = rest_.find_first_of("(), ");
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(word.size());
    Term term;
    if (each_ != nullptr && (word == "identity" || word == "absorbing")) {
      const core::Traits& traits = each_->traits;
      term.kind = Term::Kind::literal;
      term.value = word == "identity" ? identity_of(traits) : traits.absorbing_element.value();
      return term;
    }
    if (word.size() == 1) {
      const bool tensor = first >= 'a' && first <= 'z';
      if (!tensor && (first < Term::first_number || first > Term::last_number)) fail("has an unknown letter");
      term.kind = tensor ? Term::Kind::tensor : Term::Kind::number;
      term.letter = first;
      return term;
    }
    const core::OpDef* def = each_ != nullptr && word == "op" ? each_ : core::find_operator(word);
    if (def == nullptr) fail("names no operator");
    term.kind = Term::Kind::application;
    term.op = def->id;
    if (!skip('(')) fail("lacks an opening parenthesis");
    while (!rest_.starts_with(')')) {
      if (rest_.starts_with("...")) {
        rest_.remove_prefix(3);
        term.open = true;
        break;
      }
      term.operands.push_back(read_term());
      if (!skip(',')) break;
    }
    if (!skip(')')) fail("lacks a closing parenthesis");
    term.sole = skip('!');
    return term;
  }

  Term read_literal() {
    Term term;
    term.kind = Term::Kind::literal;
    double value = 0;
    const auto [end, error] = core::number_from(rest_, value);
    if (error != std::errc()) fail("has no number");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    term.value = Scalar(value);
    return term;
  }

  std::string_view text_;
  std::string_view rest_;
  const core::OpDef* each_;
};

bool commutes(const Term& term) {
  return term.operands.size() == 2 && core::definition(term.op).is(core::Traits::is_commutative);
}

}  // namespace

Term read_term(std::string_view text, const core::OpDef* each) { return TermParser(text, each).read(); }

std::vector<Term> orderings(const Term& term) {
  if (term.kind != Term::Kind::application) return {term};
  std::vector<Term> done{term};
  for (std::size_t i = 0; i < term.operands.size(); ++i) {
    const std::vector<Term> choices = orderings(term.operands[i]);
    std::vector<Term> next;
    for (const Term& base : done) {
      for (const Term& choice : choices) {
        next.push_back(base);
        next.back().operands[i] = choice;
      }
    }
    done = std::move(next);
  }
  if (!commutes(term)) return done;
  std::vector<Term> out;
  for (Term& each : done) {
    out.push_back(each);
    std::swap(each.operands[0], each.operands[1]);
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace tyto::optimiser
