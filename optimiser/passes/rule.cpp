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
      term.kind = first >= 'a' && first <= 'z' ? Term::Kind::tensor : Term::Kind::number;
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
    by_root_[static_cast<std::size_t>(root)].push_back({&rule, std::move(pattern), replacement});
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
    const std::size_t count = match_.draft.node(index).input_count;
    if (count != pattern.operands.size() && !(pattern.open && count > pattern.operands.size())) return false;
    for (std::size_t i = 0; i < pattern.operands.size(); ++i) {
      if (!fits(match_.draft.input(index, i), pattern.operands[i])) return false;
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
      if ((bound_ >> letter & 1u) != 0 && number_of(match_.draft, match_.tensors_[letter])) return true;
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
        if ((bound_ & bit) != 0) return bound == port;
        bound_ |= bit;
        bound = port;
        return true;
      }
      case Kind::number: {
        const std::optional<Scalar> number = number_of(draft, port);
        if (!number) return false;
        const auto letter = static_cast<std::size_t>(term.letter - 'A');
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
  std::uint32_t bound_ = 0;
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

bool RuleSet::Variant::possible(const Operands& operands) const {
  for (std::size_t i = 0; i < std::min(operands.op.size(), pattern.operands.size()); ++i) {
    const Term& term = pattern.operands[i];
    if (term.kind == Term::Kind::application && term.op != operands.op[i]) return false;
    const bool wants_number = term.kind == Term::Kind::literal || term.kind == Term::Kind::number;
    if (wants_number && !operands.may_be_number[i]) return false;
  }
  return true;
}

bool RuleSet::try_rules(PassContext& context, Index index) const {
  Draft& draft = context.draft;
  Operands operands;
  const std::span<const Port> inputs = draft.inputs(index);
  for (std::size_t i = 0; i < std::min(operands.op.size(), inputs.size()); ++i) {
    const OpId op = draft.node(draft.producer(inputs[i])).op;
    operands.op[i] = op;
    operands.may_be_number[i] = may_be_number(op);
  }
  for (const Variant& variant : by_root_[static_cast<std::size_t>(draft.node(index).op)]) {
    if (!variant.possible(operands)) continue;
    Match match(context, index);
    Matcher matcher(match);
    if (!matcher.fits_node(index, variant.pattern) || matcher.number_beside_number()) continue;
    bool allowed = true;
    for (const Condition* condition : variant.rule->when) allowed &= condition == nullptr || condition->holds(match);
    if (!allowed) continue;
    Port by = rewritten(match, variant);
    if (by == core::no_port || draft.dtype(by) != match.dtype() ||
        !core::broadcastable(draft.shape(by), match.shape())) {
      if (by != core::no_port) draft.remove(draft.producer(by));
      continue;
    }
    by = stretched(draft, index, by, match.shape());
    if (draft.now(by) == match.result()) continue;
    draft.replace(match.result(), by);
    context.fired(variant.rule->name);
    return true;
  }
  return false;
}

void RuleSet::apply(PassContext& context) const {
  Draft& draft = context.draft;
  bool any = false;
  for (std::size_t op = 0; op < by_root_.size() && !any; ++op) {
    any = !by_root_[op].empty() && draft.count(static_cast<OpId>(op)) != 0;
  }
  if (!any) return;
  draft.sweep([&](Index index) {
    if (!by_root_[static_cast<std::size_t>(draft.node(index).op)].empty()) (void)try_rules(context, index);
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
