// SPDX-License-Identifier: MIT
// Matches and applies rules.
#include "optimiser/passes/rule.hpp"

#include <algorithm>
#include <bit>

#include "core/graph/op_ids.hpp"
#include "core/value/shape.hpp"

namespace tyto::optimiser {

using Index = GraphEditor::Index;

const Condition integral{"integers", [](const Match& m) { return !m.is_floating(); }};
const Condition floating{"floating", [](const Match& m) { return m.is_floating(); }};
const Condition fast_math{"fast_math", [](const Match& m) { return m.context.fast_math; }};
const Condition integral_or_fast{"integers or fast_math",
                                 [](const Match& m) { return !m.is_floating() || m.context.fast_math; }};

RuleSet::RuleSet(std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    if (rule.each == nullptr) {
      add(rule, nullptr);
      continue;
    }
    for (const core::OpDef& def : core::op_table()) {
      if (rule.each(def)) add(rule, &def);
    }
  }
}

void RuleSet::add(const Rule& rule, const core::OpDef* each) {
  const Term replacement = rule.rewrite == nullptr ? read_term(rule.replacement, each) : Term();
  for (Term& pattern : orderings(read_term(rule.pattern, each))) {
    const OpId root = pattern.op;
    Variant variant{&rule, std::move(pattern), replacement};
    describe(variant);
    by_root_[static_cast<std::size_t>(root)].push_back(std::move(variant));
  }
}

void RuleSet::describe(Variant& variant) const {
  const std::vector<Term>& operands = variant.pattern.operands;
  for (std::size_t i = 0; i < std::min(variant.first.op.size(), operands.size()); ++i) {
    variant.first.op[i] = operands[i].op;
    variant.first.number[i] = operands[i].kind == Term::Kind::literal || operands[i].kind == Term::Kind::number;
  }
  variant.first.equal = operands.size() > 1 && operands[0].kind == Term::Kind::tensor &&
                        operands[1].kind == Term::Kind::tensor && operands[0].letter == operands[1].letter;
  std::vector<const Term*> open{&variant.pattern};
  while (!open.empty()) {
    const Term& term = *open.back();
    open.pop_back();
    if (term.kind == Term::Kind::application && &term != &variant.pattern) variant.parts.push_back(term.op);
    for (const Term& operand : term.operands) open.push_back(&operand);
  }
}

class Matcher {
 public:
  explicit Matcher(Match& match) : match_(match) {}

  bool fits_node(Index index, const Term& pattern) {
    match_.nodes_[match_.node_count_++] = index;
    const std::span<const Port> inputs = match_.editor.inputs(index);
    const std::size_t count = pattern.operands.size();
    if (inputs.size() != count && !(pattern.open && inputs.size() > count)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!fits(inputs[i], pattern.operands[i])) return false;
    }
    return true;
  }

  // Rules that bring numbers together are about tensors beside them. Where one of these is a number as well,
  // `constants` comes first; rules that trade places would go on for ever.
  bool number_beside_number() const {
    if (std::none_of(match_.numbers_.begin(), match_.numbers_.end(), [](const auto& number) { return !!number; })) {
      return false;
    }
    for (std::size_t letter = 0; letter < Match::letters; ++letter) {
      if ((match_.bound_ >> letter & 1u) != 0 && scalar_of(match_.editor, match_.tensors_[letter])) return true;
    }
    return false;
  }

 private:
  using Kind = Term::Kind;

  bool fits(Port port, const Term& term) {
    GraphEditor& editor = match_.editor;
    switch (term.kind) {
      case Kind::tensor: {
        const std::uint32_t bit = 1u << (term.letter - 'a');
        Port& bound = match_.tensors_[static_cast<std::size_t>(term.letter - 'a')];
        if ((match_.bound_ & bit) != 0) return bound == port;
        match_.bound_ |= bit;
        bound = port;
        return true;
      }
      case Kind::number: {
        const std::optional<Scalar> number = scalar_of(editor, port);
        if (!number) return false;
        const auto letter = static_cast<std::size_t>(term.letter - Term::first_number);
        if (match_.numbers_[letter]) return is_same(*match_.numbers_[letter], *number);
        match_.numbers_[letter] = number;
        match_.number_tensors_[letter] = port;
        return true;
      }
      case Kind::literal: {
        const std::optional<Scalar> number = scalar_of(editor, port);
        if (!number) return false;
        if (number->is_complex()) return false;
        if (!number->is_floating()) return number->as_double() == term.value.as_double();
        return std::bit_cast<std::uint64_t>(number->as_double()) ==
               std::bit_cast<std::uint64_t>(term.value.as_double());
      }
      case Kind::application: {
        const Index producer = editor.producer(port);
        if (editor.node(producer).op != term.op || (term.sole && editor.consumers(port) != 1)) return false;
        return fits_node(producer, term);
      }
    }
    return false;
  }

  Match& match_;
};

// A literal takes the element type of the other operand.
Port RuleSet::build(Match& match, const Term& term, DType dtype, const Shape& shape) const {
  switch (term.kind) {
    case Term::Kind::tensor: return match.tensor(term.letter);
    case Term::Kind::number: return match.tensor_of_scalar(term.letter);
    case Term::Kind::literal: return match.editor.add_scalar(match.root, term.value, dtype, shape);
    case Term::Kind::application: break;
  }
  std::array<Port, 3> operands{};
  DType beside = dtype;
  for (std::size_t i = 0; i < term.operands.size(); ++i) {
    if (term.operands[i].kind == Term::Kind::literal) continue;
    operands[i] = build(match, term.operands[i], dtype, {});
    beside = match.editor.dtype(operands[i]);
  }
  for (std::size_t i = 0; i < term.operands.size(); ++i) {
    if (term.operands[i].kind == Term::Kind::literal) operands[i] = build(match, term.operands[i], beside, {});
  }
  return match.editor.add(match.root, term.op, core::NoAttributes{},
                          std::span<const Port>(operands.data(), term.operands.size()));
}

Port RuleSet::rewritten(Match& match, const Variant& variant) const {
  const Rule& rule = *variant.rule;
  return rule.rewrite != nullptr ? rule.rewrite(match)
                                 : build(match, variant.replacement, match.dtype(), match.shape());
}

bool RuleSet::Variant::possible(const OperandFilter& operands) const {
  for (std::size_t i = 0; i < first.op.size(); ++i) {
    if (first.op[i] != core::no_operator && first.op[i] != operands.op[i]) return false;
    if (first.number[i] && !operands.number[i]) return false;
  }
  return !first.equal || operands.equal;
}

// Rules for operators that are added during a sweep are tried in the next one.
RuleSet::Choice RuleSet::choice_for(const GraphEditor& editor) const {
  Choice choice;
  const auto present = [&](OpId op) { return editor.count(op) != 0; };
  for (std::size_t root = 0; root < by_root_.size(); ++root) {
    choice.first[root] = static_cast<std::uint32_t>(choice.variants.size());
    if (!present(static_cast<OpId>(root))) continue;
    for (const Variant& variant : by_root_[root]) {
      if (std::ranges::all_of(variant.parts, present)) choice.variants.push_back(&variant);
    }
  }
  choice.first.back() = static_cast<std::uint32_t>(choice.variants.size());
  return choice;
}

// Rules of arithmetic are stated for real numbers: order, magnitude and rounding of complex ones are others. Views and
// moves are the same for all.
bool Match::is_complex() const {
  const core::OpDef& def = editor.definition(root);
  if (!def.is(core::Traits::elementwise) && !def.is(core::Traits::reduction) && def.id != OpId::cast) return false;
  const auto complex = [&](Port port) { return tyto::is_complex(editor.dtype(port)); };
  if (complex(result()) || std::ranges::any_of(editor.inputs(root), complex)) return true;
  for (std::size_t letter = 0; letter < letters; ++letter) {
    if ((bound_ >> letter & 1u) != 0 && complex(tensors_[letter])) return true;
  }
  return false;
}

bool RuleSet::try_rules(PassContext& context, Index index, std::span<const Variant* const> variants) const {
  GraphEditor& editor = context.editor;
  OperandFilter operands;
  const std::span<const Port> inputs = editor.inputs(index);
  for (std::size_t i = 0; i < std::min(operands.op.size(), inputs.size()); ++i) {
    operands.op[i] = editor.node(editor.producer(inputs[i])).op;
    operands.number[i] = may_be_scalar(operands.op[i]);
  }
  operands.equal = inputs.size() > 1 && inputs[0] == inputs[1];
  for (const Variant* const variant : variants) {
    if (!variant->possible(operands)) continue;
    Match match(context, index);
    Matcher matcher(match);
    if (!matcher.fits_node(index, variant->pattern) || matcher.number_beside_number()) continue;
    if (match.is_complex()) continue;
    const auto holds = [&](const Condition* condition) { return condition == nullptr || condition->holds(match); };
    if (!std::ranges::all_of(variant->rule->when, holds)) continue;
    Port by = rewritten(match, *variant);
    if (by == core::no_port || editor.dtype(by) != match.dtype() ||
        !core::broadcastable(editor.shape(by), match.shape())) {
      if (by != core::no_port) editor.remove(editor.producer(by));
      continue;
    }
    by = stretched(editor, index, by, match.shape());
    if (editor.resolve(by) == match.result()) continue;
    editor.replace(match.result(), by);
    context.fired(variant->rule->name);
    return true;
  }
  return false;
}

void RuleSet::apply(PassContext& context) const {
  const Choice choice = choice_for(context.editor);
  if (choice.variants.empty()) return;
  const std::span<const Variant* const> variants = choice.variants;
  context.editor.sweep([&](Index index) {
    const auto op = static_cast<std::size_t>(context.editor.node(index).op);
    const std::uint32_t first = choice.first[op];
    if (first != choice.first[op + 1])
      (void)try_rules(context, index, variants.subspan(first, choice.first[op + 1] - first));
  });
}

Port stretched(GraphEditor& editor, Index at, Port port, const Shape& shape) {
  if (editor.shape(port) == shape) return port;
  return editor.add(at, OpId::broadcast_to, core::ListAttributes{shape}, {port});
}

Port reshaped(GraphEditor& editor, GraphEditor::Index at, Port port, const Shape& shape) {
  if (editor.shape(port) == shape) return port;
  return editor.add(at, OpId::reshape, core::ListAttributes{shape}, {port});
}

Port reshaped_operand(Match& m) { return reshaped(m.editor, m.root, m.tensor('x'), m.shape()); }

}  // namespace tyto::optimiser
