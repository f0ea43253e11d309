// Reading, matching and applying rules.
#include "optimiser/passes/rule.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "engine/core/device.hpp"
#include "engine/core/shape.hpp"
#include "engine/core/text.hpp"

namespace tyto::optimiser {

using core::OpId;
using core::Port;
using core::Traits;
using Index = Draft::Index;

const Condition integral{"integers", [](const Match& m) { return !m.is_floating(); }};
const Condition floating{"floating", [](const Match& m) { return m.is_floating(); }};
const Condition fast_math{"fast_math", [](const Match& m) { return m.context.fast_math; }};
const Condition integral_or_fast{"integers or fast_math",
                                 [](const Match& m) { return !m.is_floating() || m.context.fast_math; }};

namespace {

// To the bit: of floating numbers only -0 added from either side leaves every x as it is, since -0 + 0 is 0. Integers
// have one zero, which matches both.
double identity_of(const core::Traits& traits) {
  if (traits.identity_element == 0.0) return -0.0;
  return traits.identity_element ? *traits.identity_element : traits.right_identity_element.value();
}

}  // namespace

class RuleSet::Reader {
 public:
  Reader(std::string_view text, const core::OpDef* each) : text_(text), rest_(text), each_(each) {}

  Term read() {
    Term term = read_term();
    if (!rest_.empty()) fail("has something behind its end");
    return term;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw GraphError(core::text("rule '", text_, "' ", what, " at '", rest_, "'"));
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
      if (!tensor && (first < Match::first_number || first > Match::last_number)) fail("has an unknown letter");
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
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) fail("has no number");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    term.value = Scalar(value);
    return term;
  }

  std::string_view text_;
  std::string_view rest_;
  const core::OpDef* each_;
};

namespace {

bool commutes(OpId op, std::size_t operands) {
  return operands == 2 && core::definition(op).is(Traits::is_commutative);
}

}  // namespace

// All ways to write the term with operands of commutative operators exchanged, so that matching need not try.
void RuleSet::orderings(const Term& term, std::vector<Term>& out) {
  if (term.kind != Term::Kind::application) {
    out.push_back(term);
    return;
  }
  std::vector<Term> done{term};
  for (std::size_t i = 0; i < term.operands.size(); ++i) {
    std::vector<Term> choices;
    orderings(term.operands[i], choices);
    std::vector<Term> next;
    for (const Term& base : done) {
      for (const Term& choice : choices) {
        next.push_back(base);
        next.back().operands[i] = choice;
      }
    }
    done = std::move(next);
  }
  for (Term& each : done) {
    out.push_back(each);
    if (!commutes(term.op, term.operands.size())) continue;
    std::swap(each.operands[0], each.operands[1]);
    out.push_back(std::move(each));
  }
}

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
  std::vector<Term> patterns;
  orderings(Reader(rule.pattern, each).read(), patterns);
  const Term replacement = rule.rewrite == nullptr ? Reader(rule.replacement, each).read() : Term();
  for (Term& pattern : patterns) {
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
  std::vector<const Term*> open;
  for (const Term& operand : operands) open.push_back(&operand);
  while (!open.empty()) {
    const Term& term = *open.back();
    open.pop_back();
    if (term.kind == Term::Kind::application) variant.parts.push_back(term.op);
    for (const Term& operand : term.operands) open.push_back(&operand);
  }
}

namespace {

// The operators that number_of looks at.
bool may_be_number(OpId op) {
  return op == OpId::constant || op == OpId::fill || op == OpId::broadcast_to || op == OpId::reshape;
}

}  // namespace

class Matcher {
 public:
  explicit Matcher(Match& match) : match_(match) {}

  bool fits_node(Index index, const RuleSet::Term& pattern) {
    match_.nodes_[match_.node_count_++] = index;
    const std::span<const Port> inputs = match_.draft.inputs(index);
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
      if ((match_.bound_ >> letter & 1u) != 0 && number_of(match_.draft, match_.tensors_[letter])) return true;
    }
    return false;
  }

 private:
  using Kind = RuleSet::Term::Kind;

  bool fits(Port port, const RuleSet::Term& term) {
    Draft& draft = match_.draft;
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
        const std::optional<Scalar> number = number_of(draft, port);
        if (!number) return false;
        const auto letter = static_cast<std::size_t>(term.letter - Match::first_number);
        if (match_.numbers_[letter]) return *match_.numbers_[letter] == *number;
        match_.numbers_[letter] = number;
        match_.number_tensors_[letter] = port;
        return true;
      }
      case Kind::literal: {
        const std::optional<Scalar> number = number_of(draft, port);
        if (!number) return false;
        if (!number->is_floating()) return number->as_double() == term.value.as_double();
        return std::bit_cast<std::uint64_t>(number->as_double()) ==
               std::bit_cast<std::uint64_t>(term.value.as_double());
      }
      case Kind::application: {
        const Index producer = draft.producer(port);
        if (draft.node(producer).op != term.op || (term.sole && draft.readers(port) != 1)) return false;
        return fits_node(producer, term);
      }
    }
    return false;
  }

  Match& match_;
};

// A literal takes the type of the operand beside it.
Port RuleSet::build(Match& match, const Term& term, DType dtype, const Shape& shape) const {
  switch (term.kind) {
    case Term::Kind::tensor: return match.tensor(term.letter);
    case Term::Kind::number: return match.tensor_of_number(term.letter);
    case Term::Kind::literal: return match.draft.add_number(match.root, term.value, dtype, shape);
    case Term::Kind::application: break;
  }
  std::array<Port, 3> operands{};
  DType beside = dtype;
  for (std::size_t i = 0; i < term.operands.size(); ++i) {
    if (term.operands[i].kind == Term::Kind::literal) continue;
    operands[i] = build(match, term.operands[i], dtype, {});
    beside = match.draft.dtype(operands[i]);
  }
  for (std::size_t i = 0; i < term.operands.size(); ++i) {
    if (term.operands[i].kind == Term::Kind::literal) operands[i] = build(match, term.operands[i], beside, {});
  }
  return match.draft.add(match.root, term.op, core::NoAttributes{},
                         std::span<const Port>(operands.data(), term.operands.size()));
}

Port RuleSet::rewritten(Match& match, const Variant& variant) const {
  const Rule& rule = *variant.rule;
  return rule.rewrite != nullptr ? rule.rewrite(match)
                                 : build(match, variant.replacement, match.dtype(), match.shape());
}

bool RuleSet::Variant::possible(const Glance& operands) const {
  for (std::size_t i = 0; i < first.op.size(); ++i) {
    if (first.op[i] != OpId::count && first.op[i] != operands.op[i]) return false;
    if (first.number[i] && !operands.number[i]) return false;
  }
  return !first.equal || operands.equal;
}

// What a rule adds in the middle of a sweep is seen by the next one.
RuleSet::Choice RuleSet::choice_for(const Draft& draft) const {
  Choice choice;
  const auto present = [&](OpId op) { return draft.count(op) != 0; };
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

bool RuleSet::try_rules(PassContext& context, Index index, std::span<const Variant* const> variants) const {
  Draft& draft = context.draft;
  Glance operands;
  const std::span<const Port> inputs = draft.inputs(index);
  for (std::size_t i = 0; i < std::min(operands.op.size(), inputs.size()); ++i) {
    operands.op[i] = draft.node(draft.producer(inputs[i])).op;
    operands.number[i] = may_be_number(operands.op[i]);
  }
  operands.equal = inputs.size() > 1 && inputs[0] == inputs[1];
  for (const Variant* const variant : variants) {
    if (!variant->possible(operands)) continue;
    Match match(context, index);
    Matcher matcher(match);
    if (!matcher.fits_node(index, variant->pattern) || matcher.number_beside_number()) continue;
    const auto holds = [&](const Condition* condition) { return condition == nullptr || condition->holds(match); };
    if (!std::ranges::all_of(variant->rule->when, holds)) continue;
    Port by = rewritten(match, *variant);
    if (by == core::no_port || draft.dtype(by) != match.dtype() ||
        !core::broadcastable(draft.shape(by), match.shape())) {
      if (by != core::no_port) draft.remove(draft.producer(by));
      continue;
    }
    by = stretched(draft, index, by, match.shape());
    if (draft.now(by) == match.result()) continue;
    draft.replace(match.result(), by);
    context.fired(variant->rule->name);
    return true;
  }
  return false;
}

void RuleSet::apply(PassContext& context) const {
  const Choice choice = choice_for(context.draft);
  if (choice.variants.empty()) return;
  const std::span<const Variant* const> variants = choice.variants;
  context.draft.sweep([&](Index index) {
    const auto op = static_cast<std::size_t>(context.draft.node(index).op);
    const std::uint32_t first = choice.first[op];
    if (first != choice.first[op + 1])
      (void)try_rules(context, index, variants.subspan(first, choice.first[op + 1] - first));
  });
}

Port stretched(Draft& draft, Index at, Port port, const Shape& shape) {
  if (draft.shape(port) == shape) return port;
  return draft.add(at, OpId::broadcast_to, core::ListAttributes{shape}, {port});
}

namespace {

Scalar element(const std::byte* place, DType dtype) {
  const auto load = [place](auto value) {
    std::memcpy(&value, place, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::boolean: return Scalar(load(std::uint8_t{}) != 0);
    case DType::u8: return Scalar(load(std::uint8_t{}));
    case DType::i8: return Scalar(load(std::int8_t{}));
    case DType::i16: return Scalar(load(std::int16_t{}));
    case DType::i32: return Scalar(load(std::int32_t{}));
    case DType::i64: return Scalar(load(std::int64_t{}));
    case DType::f16: return Scalar(static_cast<float>(load(Half(0.0f))));
    case DType::bf16: return Scalar(static_cast<float>(load(BFloat16(0.0f))));
    case DType::f32: return Scalar(load(0.0f));
    case DType::f64: return Scalar(load(0.0));
  }
  return {};
}

bool is_one_element(const core::View& view) {
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0 || (view.shape[i] != 1 && view.strides[i] != 0)) return false;
  }
  return true;
}

std::optional<Scalar> number_in(const core::Array& array) {
  if (!is_one_element(array.view)) return {};
  const std::size_t width = size_of(array.dtype);
  const std::size_t offset = static_cast<std::size_t>(array.view.offset) * width;
  core::Device& device = *array.buffer->device();
  if (device.properties().host_memory) {
    return element(static_cast<const std::byte*>(array.buffer->memory()) + offset, array.dtype);
  }
  std::array<std::byte, 8> copy{};
  device.copy_out(copy.data(), *array.buffer, offset, width);
  return element(copy.data(), array.dtype);
}

// A fill holds its number as it was written; what its elements hold is that number in their type.
std::optional<Scalar> number_in(const core::RangeAttributes& fill) {
  if (is_floating(fill.dtype)) {
    const double value = fill.start.as_double();
    switch (fill.dtype) {
      case DType::f16: return Scalar(static_cast<float>(Half(static_cast<float>(value))));
      case DType::bf16: return Scalar(static_cast<float>(BFloat16(static_cast<float>(value))));
      case DType::f32: return Scalar(static_cast<float>(value));
      default: return Scalar(value);
    }
  }
  if (fill.dtype == DType::boolean) return Scalar(fill.start.as_double() != 0);
  const std::int64_t value = fill.start.as_int();
  switch (fill.dtype) {
    case DType::u8: return Scalar(static_cast<std::uint8_t>(value));
    case DType::i8: return Scalar(static_cast<std::int8_t>(value));
    case DType::i16: return Scalar(static_cast<std::int16_t>(value));
    case DType::i32: return Scalar(static_cast<std::int32_t>(value));
    default: return Scalar(value);
  }
}

}  // namespace

std::optional<Scalar> number_of(Draft& draft, Port port) {
  // Views of one number are that number; chains of views are short once they have been collapsed.
  for (int depth = 0; depth < 4; ++depth) {
    const Index producer = draft.producer(port);
    const OpId op = draft.node(producer).op;
    if (op == OpId::constant) return number_in(draft.attributes_as<core::ConstantAttributes>(producer).array);
    if (op == OpId::fill) return number_in(draft.attributes_as<core::RangeAttributes>(producer));
    if (!may_be_number(op)) return {};
    port = draft.input(producer, 0);
  }
  return {};
}

}  // namespace tyto::optimiser
