// Values in order, each from what is known of its operands; then those that somebody still reads.
#include "core/known_values.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include "core/known_integer.hpp"
#include "core/linear_integer.hpp"
#include "core/loop_builder.hpp"
#include "core/loop_rows.hpp"
#include "core/op_ids.hpp"

namespace tyto::core {

namespace {

class Knowledge {
 public:
  Knowledge(const BoundLoop& bound, std::span<const DType> inputs)
      : program_(bound.loop.program),
        whole_(bound.whole()),
        row_length_(row_length(bound.loop.shape, bound.loop.axes)),
        has_axes_(!bound.loop.axes.empty()),
        types_(value_types(program_, inputs)),
        stands_for_(program_.values()),
        easier_(program_.values()),
        kept_(program_.values()) {
    for (std::size_t v = 0; v < program_.values(); ++v) {
      stands_for_[v] = static_cast<LoopValue>(v);
      linear_.push_back(LinearInteger::of(static_cast<LoopValue>(v)));
    }
    for (const LoopValue output : program_.outputs) kept_[output] = true;
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      if (may_fold(program_.instruction_of(v).op)) kept_[program_.operands_of(v)[0]] = true;
    }
    for (std::size_t v = 0; v < program_.values(); ++v) learn(v);
    drop_choices_made();
  }

  bool found_any() const { return found_any_; }
  bool is_number(std::size_t value) const { return number_[value].has_value(); }

  /// The program of the values that its results still need.
  LoopProgram rest(std::span<const DType> inputs) const {
    const std::vector<int> readers = count_readers();
    LoopBuilder builder(inputs);
    std::vector<LoopValue> made(program_.values());
    for (std::size_t v = 0; v < program_.values(); ++v) {
      if (v < program_.inputs) made[v] = static_cast<LoopValue>(v);
      else if (readers[v] != 0) made[v] = write(builder, v, made);
    }
    std::vector<LoopValue> outputs;
    for (const LoopValue output : program_.outputs) outputs.push_back(made[stands_for_[output]]);
    return builder.finish(outputs);
  }

 private:
  /// An operator on two values, or on a value and a number.
  struct Easier {
    OpId op;
    LoopValue a;
    std::optional<LoopValue> b = {};
    std::int64_t number = 0;
    bool number_first = false;
  };

  bool is_instruction(LoopValue v) const { return v >= program_.first_instruction(); }
  OpId op_of(LoopValue v) const { return program_.instruction_of(v).op; }
  /// The value that stands for an operand of an instruction.
  LoopValue operand_of(std::size_t v, std::size_t i) const { return stands_for_[program_.operands_of(v)[i]]; }
  bool is_of_integers(LoopValue v) const { return types_[v] != DType::boolean && any_of(types_[v]).has_value(); }

  /// By value: how often what the results still need reads it, and results themselves.
  std::vector<int> count_readers() const {
    std::vector<int> readers(program_.values());
    for (const LoopValue output : program_.outputs) ++readers[stands_for_[output]];
    for (std::size_t v = program_.values(); v-- > program_.first_instruction();) {
      if (readers[v] == 0 || number_[v]) continue;
      if (const std::optional<Easier>& each = easier_[v]) {
        ++readers[stands_for_[each->a]];
        if (each->b) ++readers[stands_for_[*each->b]];
      } else {
        for (std::size_t i = 0; i < program_.operands_of(v).size(); ++i) ++readers[operand_of(v, i)];
      }
    }
    return readers;
  }

  void learn(std::size_t v) {
    number_.push_back(std::nullopt);
    if (v < program_.inputs) {
      known_.push_back(any_of(types_[v]));
    } else if (v < program_.first_instruction()) {
      const LoopConstant& constant = program_.constants[v - program_.inputs];
      known_.push_back(only(constant.dtype, constant.value.as_int()));
      note_number(v);
    } else {
      learn_instruction(v);
      note_number(v);
    }
  }

  void note_number(std::size_t v) {
    if (is_of_integers(static_cast<LoopValue>(v)) && known_[v]->is_one_number())
      linear_[v] = LinearInteger::of_number(types_[v], known_[v]->low);
  }

  void learn_instruction(std::size_t v) {
    const LoopInstruction& step = program_.instruction_of(v);
    std::vector<std::optional<KnownInteger>> operands;
    std::vector<DType> types;
    std::vector<LoopValue> from;
    for (const LoopValue operand : program_.operands_of(v)) {
      from.push_back(stands_for_[operand]);
      operands.push_back(known_[from.back()]);
      types.push_back(types_[operand]);
    }
    if (may_fold(step.op)) {
      known_.push_back(known_reduction(v, types[0], operands[0]));
      if (known_[v] && known_[v]->is_one_number()) found_any_ = true, number_[v] = known_[v]->low;
      return;
    }
    if (step.op == OpId::where) {
      for (const std::size_t branch : {1, 2}) {
        if (operands[branch]) operands[branch] = known_under(from[0], branch == 1, from[branch], *operands[branch]);
      }
    }
    known_.push_back(known_result(step.op, step.dtype, types, operands));
    if (const std::optional<bool> ordered = known_order(step.op, from)) known_[v] = only(DType::boolean, *ordered);
    const bool same_types = std::ranges::all_of(types, [&](DType type) { return type == step.dtype; });
    if (same_types && is_of_integers(static_cast<LoopValue>(v))) {
      learn_linear(v, from);
      if (!easier_[v]) easier_[v] = easier(step.op, from, operands);
    }
    if (easier_[v]) found_any_ = true;
    if (stands_for_[v] != v) return;
    if (is_copy(v)) {
      if (!kept_[v]) stand_for(v, from[0]);
      return;
    }
    std::optional<std::size_t> same = operand_it_is(step.op, operands);
    if (!same) same = extreme_of(step.op, from);
    if (same && types[*same] == step.dtype) {
      stand_for(v, from[*same]);
    } else if (known_[v] && known_[v]->is_one_number() && may_be_number(v)) {
      found_any_ = true, number_[v] = known_[v]->low;
    } else if (const std::optional<LoopValue> earlier = same_instruction_before(v, from)) {
      stand_for(v, *earlier);
    }
  }

  /// Has another value read instead; what is kept becomes a copy of it, where it has as many elements.
  void stand_for(std::size_t v, LoopValue other) {
    if (!kept_[v]) {
      found_any_ = true;
      stands_for_[v] = other, linear_[v] = linear_[other], known_[v] = known_[other];
    } else if (whole_[v] == whole_[other] && is_of_integers(other)) {
      found_any_ = true;
      easier_[v] = {OpId::bitwise_or, other, other};
    }
  }
  /// Whole results of a loop over rows say how many elements there are; what reads numbers alone is one already.
  bool may_be_number(std::size_t v) const {
    if (!kept_[v]) return true;
    const bool reads_values = std::ranges::any_of(program_.operands_of(v), [&](LoopValue operand) {
      return operand < program_.inputs || is_instruction(operand);
    });
    return (!has_axes_ || !whole_[v]) && reads_values;
  }
  bool is_copy(std::size_t v) const {
    return op_of(static_cast<LoopValue>(v)) == OpId::bitwise_or && operand_of(v, 0) == operand_of(v, 1);
  }

  /// An instruction before this one that does the same.
  std::optional<LoopValue> same_instruction_before(std::size_t v, std::span<const LoopValue> from) const {
    for (std::size_t other = program_.first_instruction(); other < v; ++other) {
      const LoopInstruction &a = program_.instruction_of(other), &b = program_.instruction_of(v);
      if (a.op != b.op || a.dtype != b.dtype || stands_for_[other] != other || number_[other]) continue;
      std::size_t i = 0;
      while (i < from.size() && operand_of(other, i) == from[i]) ++i;
      if (i == from.size()) return static_cast<LoopValue>(other);
    }
    return std::nullopt;
  }

  /// What a linear instruction comes to: a number, its base, or less than it takes now.
  void learn_linear(std::size_t v, std::span<const LoopValue> from) {
    const DType type = types_[v];
    std::vector<LinearInteger> operands;
    for (const LoopValue operand : from) operands.push_back(linear_[operand]);
    const std::optional<LinearInteger> linear = linear_result(op_of(static_cast<LoopValue>(v)), type, operands);
    if (!linear) return;
    linear_[v] = *linear;
    if (linear->is_number()) {
      known_[v] = only(type, number_of(type, linear->added));
      return;
    }
    const std::span<const LinearInteger::Term> terms = linear->terms();
    if (terms.size() == 1 && terms[0].factor == 1 && linear->added == 0) return stand_for(v, terms[0].base);
    if (kept_[v]) return;
    const auto reads_all = [&] {
      std::size_t read = 0;
      for (const LoopValue operand : from) read += linear_[operand].is_number() ? 0 : 1;
      return read == terms.size() && std::ranges::all_of(terms, [&](const LinearInteger::Term& term) {
               return std::ranges::find(from, term.base) != from.end();
             });
    };
    if (!reads_all())
      easier_[v] = terms.size() == 1 ? of_one_term(type, op_of(static_cast<LoopValue>(v)), *linear, operands)
                                     : of_two_terms(type, *linear);
  }

  static std::optional<Easier> of_one_term(DType type, OpId op, const LinearInteger& linear,
                                           std::span<const LinearInteger> operands) {
    const auto [base, factor] = linear.terms()[0];
    const std::int64_t number = number_of(type, linear.added);
    if (factor == 1) return Easier{OpId::add, base, {}, number};
    if (factor == all_bits(type)) return Easier{OpId::subtract, base, {}, number, true};
    if (linear.added != 0) return std::nullopt;
    if (std::has_single_bit(factor)) return Easier{OpId::left_shift, base, {}, std::countr_zero(factor)};
    // Only in place of other products: a product takes longer than sums and shifts.
    const auto multiplies = [](const LinearInteger& operand) {
      return std::ranges::any_of(operand.terms(), [](const auto& term) { return !std::has_single_bit(term.factor); });
    };
    if (op != OpId::multiply && std::ranges::none_of(operands, multiplies)) return std::nullopt;
    return Easier{OpId::multiply, base, {}, number_of(type, factor)};
  }

  static std::optional<Easier> of_two_terms(DType type, const LinearInteger& linear) {
    if (linear.terms().size() != 2 || linear.added != 0) return std::nullopt;
    const auto [a, factor_a] = linear.terms()[0];
    const auto [b, factor_b] = linear.terms()[1];
    const std::uint64_t minus_one = all_bits(type);
    if (factor_a == 1 && factor_b == 1) return Easier{OpId::add, a, b};
    if (factor_a == 1 && factor_b == minus_one) return Easier{OpId::subtract, a, b};
    if (factor_a == minus_one && factor_b == 1) return Easier{OpId::subtract, b, a};
    return std::nullopt;
  }

  /// What is known of a value where a condition is true, or where it is not.
  KnownInteger known_under(LoopValue condition, bool holds, LoopValue value, const KnownInteger& known) const {
    if (!is_instruction(condition) || types_[condition] != DType::boolean) return known;
    const std::size_t operands = program_.operands_of(condition).size();
    const OpId op = op_of(condition);
    const LoopValue a = operand_of(condition, 0), b = operand_of(condition, operands - 1);
    if (op == OpId::logical_not && types_[a] == DType::boolean) return known_under(a, !holds, value, known);
    if (op == (holds ? OpId::logical_and : OpId::logical_or))
      return known_under(b, holds, value, known_under(a, holds, value, known));
    if (operands != 2 || types_[a] != types_[b] || !known_[a] || !known_[b]) return known;
    std::optional<KnownInteger> less;
    if (a == value && is_comparison(op)) less = known_where(op, holds, known, *known_[b]);
    else if (b == value && is_comparison(op)) less = known_where(mirrored(op), holds, known, *known_[a]);
    return less ? *less : known;
  }

  static bool is_comparison(OpId op) {
    using enum OpId;
    return op == equal || op == not_equal || op == less || op == less_equal || op == greater || op == greater_equal;
  }
  /// The comparison of the operands in the other order.
  static OpId mirrored(OpId op) {
    switch (op) {
      case OpId::less: return OpId::greater;
      case OpId::less_equal: return OpId::greater_equal;
      case OpId::greater: return OpId::less;
      case OpId::greater_equal: return OpId::less_equal;
      default: return op;
    }
  }

  /// Whether one integer is never larger than another, by what they are made of.
  bool is_at_most(LoopValue a, LoopValue b, int depth = 3) const {
    if (a == b || (known_[a] && known_[b] && known_[a]->high <= known_[b]->low)) return true;
    if (depth == 0) return false;
    if (is_instruction(a)) {
      const std::size_t operands = program_.operands_of(a).size();
      for (std::size_t i = 0; i < operands; ++i) {
        const LoopValue operand = operand_of(a, i);
        if (types_[operand] == types_[a] && is_upper_limit(a, i) && is_at_most(operand, b, depth - 1)) return true;
      }
    }
    if (is_instruction(b) && is_lower_limit(b)) {
      const std::size_t operands = program_.operands_of(b).size();
      for (std::size_t i = 0; i < operands; ++i) {
        const LoopValue operand = operand_of(b, i);
        if (types_[operand] == types_[b] && is_at_most(a, operand, depth - 1)) return true;
      }
    }
    return false;
  }
  bool is_non_negative(LoopValue v) const { return known_[v] && known_[v]->low >= 0; }
  /// Whether the value is no larger than its operand.
  bool is_upper_limit(LoopValue v, std::size_t i) const {
    switch (op_of(v)) {
      case OpId::minimum: return true;
      case OpId::clip: return i == 2;
      case OpId::bitwise_and: return is_non_negative(operand_of(v, i));
      default: return false;
    }
  }
  /// Whether the value is no smaller than any of its operands.
  bool is_lower_limit(LoopValue v) const {
    switch (op_of(v)) {
      case OpId::maximum:
      case OpId::relu: return true;
      case OpId::bitwise_or: return is_non_negative(operand_of(v, 0)) && is_non_negative(operand_of(v, 1));
      default: return false;
    }
  }

  std::optional<bool> known_order(OpId op, std::span<const LoopValue> operands) const {
    if (!is_comparison(op) || !is_of_integers(operands[0]) || types_[operands[0]] != types_[operands[1]])
      return std::nullopt;
    const LoopValue a = operands[0], b = operands[1];
    const auto decided = [](bool found, bool value) { return found ? std::optional(value) : std::nullopt; };
    switch (op) {
      case OpId::equal: return decided(a == b, true);
      case OpId::not_equal: return decided(a == b, false);
      case OpId::less: return decided(is_at_most(b, a), false);
      case OpId::less_equal: return decided(is_at_most(a, b), true);
      case OpId::greater: return decided(is_at_most(a, b), false);
      default: return decided(is_at_most(b, a), true);
    }
  }

  std::optional<std::size_t> extreme_of(OpId op, std::span<const LoopValue> operands) const {
    if (op != OpId::minimum && op != OpId::maximum) return std::nullopt;
    if (!is_of_integers(operands[0]) || types_[operands[0]] != types_[operands[1]]) return std::nullopt;
    if (is_at_most(operands[0], operands[1])) return op == OpId::minimum ? 0 : 1;
    if (is_at_most(operands[1], operands[0])) return op == OpId::minimum ? 1 : 0;
    return std::nullopt;
  }

  /// A choice that only one branch of another by the same condition reads is made already.
  void drop_choices_made() {
    const std::vector<int> readers = count_readers();
    for (std::size_t v = program_.values(); v-- > program_.first_instruction();) {
      const auto value = static_cast<LoopValue>(v);
      if (readers[v] == 0 || number_[v] || op_of(value) != OpId::where) continue;
      for (const std::size_t branch : {1, 2}) choose_within(operand_of(v, branch), operand_of(v, 0), branch, readers);
    }
  }
  void choose_within(LoopValue value, LoopValue condition, std::size_t branch, const std::vector<int>& readers) {
    if (!is_instruction(value) || number_[value] || easier_[value] || readers[value] != 1) return;
    if (kept_[value] || may_fold(op_of(value))) return;
    const bool is_made = op_of(value) == OpId::where && operand_of(value, 0) == condition;
    if (is_made && types_[operand_of(value, branch)] == types_[value]) {
      const LoopValue chosen = operand_of(value, branch);
      std::ranges::replace(stands_for_, value, chosen);
      found_any_ = true;
      return choose_within(chosen, condition, branch, readers);
    }
    for (std::size_t i = 0; i < program_.operands_of(value).size(); ++i)
      choose_within(operand_of(value, i), condition, branch, readers);
  }

  /// Sums and products of rows wrap round; extremes are among what they are taken of.
  std::optional<KnownInteger> known_reduction(std::size_t v, DType type,
                                              const std::optional<KnownInteger>& operand) const {
    const LoopInstruction& step = program_.instruction_of(v);
    const bool is_extreme = step.op == OpId::min || step.op == OpId::max;
    if (is_extreme && type == step.dtype) return operand;
    const bool is_sum = step.op == OpId::sum && whole_[program_.operands_of(v)[0]];
    if (is_sum && operand && operand->is_one_number() && any_of(step.dtype)) {
      const DType types[] = {step.dtype, step.dtype};
      const std::optional<KnownInteger> factors[] = {only(step.dtype, operand->low), only(step.dtype, row_length_)};
      return known_result(OpId::multiply, step.dtype, types, factors);
    }
    return any_of(step.dtype);
  }

  /// What takes less than a quotient or remainder of a power of two, both of which are rounded down.
  static std::optional<Easier> easier(OpId op, std::span<const LoopValue> from,
                                      std::span<const std::optional<KnownInteger>> operands) {
    if (op != OpId::floor_divide && op != OpId::remainder) return std::nullopt;
    if (!operands[1]->is_one_number() || operands[1]->low <= 0) return std::nullopt;
    const auto divisor = static_cast<std::uint64_t>(operands[1]->low);
    if (!std::has_single_bit(divisor)) return std::nullopt;
    if (op == OpId::remainder) return Easier{OpId::bitwise_and, from[0], {}, static_cast<std::int64_t>(divisor - 1)};
    return Easier{OpId::right_shift, from[0], {}, std::countr_zero(divisor)};
  }

  /// Which operand the result always is.
  static std::optional<std::size_t> operand_it_is(OpId op, std::span<const std::optional<KnownInteger>> operands) {
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

  static std::optional<std::size_t> extreme(OpId op, const KnownInteger& a, const KnownInteger& b) {
    if (a.low >= b.high) return op == OpId::maximum ? 0 : 1;
    if (b.low >= a.high) return op == OpId::maximum ? 1 : 0;
    return std::nullopt;
  }

  /// A mask that takes nothing away, or adds nothing.
  static std::optional<std::size_t> covering(OpId op, const KnownInteger& a, const KnownInteger& b) {
    const bool both = op == OpId::bitwise_and;
    if (both ? (~a.zeros & ~b.ones) == 0 : (~b.zeros & ~a.ones) == 0) return 0;
    if (both ? (~b.zeros & ~a.ones) == 0 : (~a.zeros & ~b.ones) == 0) return 1;
    return std::nullopt;
  }

  LoopValue write(LoopBuilder& builder, std::size_t v, std::span<const LoopValue> made) const {
    if (number_[v]) {
      const Scalar number = types_[v] == DType::boolean ? Scalar(*number_[v] != 0) : Scalar(*number_[v]);
      const LoopValue constant = builder.constant(number, types_[v]);
      return kept_[v] ? builder.apply(OpId::maximum, types_[v], {constant, constant}) : constant;
    }
    if (v < program_.first_instruction()) {
      const LoopConstant& constant = program_.constants[v - program_.inputs];
      return builder.constant(constant.value, constant.dtype);
    }
    if (const std::optional<Easier>& each = easier_[v]) {
      const LoopValue a = made[stands_for_[each->a]];
      const LoopValue b = each->b ? made[stands_for_[*each->b]] : builder.constant(Scalar(each->number), types_[v]);
      if (each->number_first) return builder.apply(each->op, types_[v], {b, a});
      return builder.apply(each->op, types_[v], {a, b});
    }
    std::vector<LoopValue> operands;
    for (const LoopValue operand : program_.operands_of(v)) operands.push_back(made[stands_for_[operand]]);
    return builder.apply(program_.instruction_of(v), operands);
  }

  const LoopProgram& program_;
  std::vector<bool> whole_;
  std::int64_t row_length_;
  bool has_axes_;
  std::vector<DType> types_;
  std::vector<std::optional<KnownInteger>> known_;
  std::vector<LinearInteger> linear_;
  std::vector<std::optional<std::int64_t>> number_;  // what the value is, where it is one number
  std::vector<LoopValue> stands_for_;                // the value that is read instead
  std::vector<std::optional<Easier>> easier_;        // the operator that gives the same
  std::vector<bool> kept_;  // results and what is reduced: instructions, and no two results the same one
  bool found_any_ = false;
};

/// By output, and by reduction that is made in order: whether it, or what it reduces, is whole.
template <class IsMade>
std::vector<bool> whole_ends(const LoopAttributes& loop, std::span<const Shape> given, IsMade&& is_made) {
  const std::vector<bool> whole = whole_values(loop, given);
  std::vector<bool> ends;
  for (const LoopValue output : loop.program.outputs) ends.push_back(whole[output]);
  for (std::size_t v = loop.program.first_instruction(); v < loop.program.values(); ++v) {
    if (!may_fold(loop.program.instruction_of(v).op) || !is_made(v)) continue;
    ends.push_back(whole[loop.program.operands_of(v)[0]]);
  }
  return ends;
}

}  // namespace

namespace {

/// Whether there was anything to drop.
bool drop_once(BoundLoop& bound) {
  const LoopProgram& program = bound.loop.program;
  const auto is_of_integers = [](const LoopInstruction& step) { return any_of(step.dtype).has_value(); };
  if (program.instructions.size() < 2 || std::ranges::none_of(program.instructions, is_of_integers)) return false;
  const std::vector<DType> inputs = bound.input_types();
  const Knowledge knowledge(bound, inputs);
  if (!knowledge.found_any()) return false;
  LoopAttributes rest{bound.loop.shape, bound.loop.axes, knowledge.rest(inputs)};
  // What is made of rows alone is one element a row: the loop stays as it is if it would make less than it should.
  const auto always = [](std::size_t) { return true; };
  const auto not_known = [&](std::size_t value) { return !knowledge.is_number(value); };
  if (!rest.axes.empty() && whole_ends(rest, bound.given, always) != whole_ends(bound.loop, bound.given, not_known))
    return false;
  bound.loop = std::move(rest);
  // However what is not read lies, nobody's elements follow it.
  std::vector<bool> read(bound.inputs.size());
  for (std::size_t v = bound.loop.program.first_instruction(); v < bound.loop.program.values(); ++v) {
    for (const LoopValue operand : bound.loop.program.operands_of(v)) {
      if (operand < read.size()) read[operand] = true;
    }
  }
  for (const LoopValue output : bound.loop.program.outputs) {
    if (output < read.size()) read[output] = true;
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) std::ranges::fill(bound.inputs[i].view.strides, 0);
  }
  return true;
}

}  // namespace

void drop_known_values(BoundLoop& bound) {
  // What is dropped shows more: numbers where operands were, and conditions that are the same.
  constexpr int most_rounds = 3;
  for (int round = 0; round < most_rounds && drop_once(bound); ++round) {
  }
}

}  // namespace tyto::core
