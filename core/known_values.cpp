// Values in order, each from what is known of its operands; then those that somebody still reads.
#include "core/known_values.hpp"

#include <algorithm>
#include <optional>

#include "core/integer_facts.hpp"
#include "core/loop_builder.hpp"
#include "core/loop_rows.hpp"
#include "core/op_ids.hpp"
#include "core/simpler_instruction.hpp"

namespace tyto::core {

namespace {

class Knowledge {
 public:
  Knowledge(const BoundLoop& bound, std::span<const DType> inputs)
      : program_(bound.loop.program),
        whole_(bound.whole()),
        row_length_(row_length(bound.loop.shape, bound.loop.axes)),
        has_axes_(!bound.loop.axes.empty()),
        facts_(program_, inputs),
        number_(program_.values()),
        simpler_(program_.values()),
        kept_(program_.values()) {
    for (const LoopValue output : program_.outputs) kept_[output] = true;
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      if (may_fold(program_.instruction_of(v).op)) kept_[program_.operands_of(v)[0]] = true;
    }
    for (std::size_t v = 0; v < program_.values(); ++v) learn(static_cast<LoopValue>(v));
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
      else if (readers[v] != 0) made[v] = write(builder, static_cast<LoopValue>(v), made);
    }
    std::vector<LoopValue> outputs;
    for (const LoopValue output : program_.outputs) outputs.push_back(made[facts_.stands_for[output]]);
    return builder.finish(outputs);
  }

 private:
  /// By value: how often what the results still need reads it, and results themselves.
  std::vector<int> count_readers() const {
    std::vector<int> readers(program_.values());
    for (const LoopValue output : program_.outputs) ++readers[facts_.stands_for[output]];
    for (auto v = static_cast<LoopValue>(program_.values()); v-- > program_.first_instruction();) {
      if (readers[v] == 0 || number_[v]) continue;
      if (const std::optional<SimplerInstruction>& each = simpler_[v]) {
        ++readers[facts_.stands_for[each->a]];
        if (each->b) ++readers[facts_.stands_for[*each->b]];
      } else {
        for (std::size_t i = 0; i < facts_.operands_of(v); ++i) ++readers[facts_.operand_of(v, i)];
      }
    }
    return readers;
  }

  void learn(LoopValue v) {
    if (v < program_.inputs) {
      facts_.known.push_back(any_of(facts_.types[v]));
    } else if (v < program_.first_instruction()) {
      const LoopConstant& constant = program_.constants[v - program_.inputs];
      facts_.known.push_back(only(constant.dtype, constant.value.as_int()));
      note_number(v);
    } else {
      learn_instruction(v);
      note_number(v);
    }
  }

  void note_number(LoopValue v) {
    if (facts_.is_integer(v) && facts_.is_number(v))
      facts_.linear[v] = LinearInteger::of_number(facts_.types[v], facts_.known[v]->low);
  }

  void learn_instruction(LoopValue v) {
    const LoopInstruction& step = program_.instruction_of(v);
    std::vector<std::optional<KnownInteger>> operands;
    std::vector<DType> types;
    std::vector<LoopValue> from;
    for (const LoopValue operand : program_.operands_of(v)) {
      from.push_back(facts_.stands_for[operand]);
      operands.push_back(facts_.known[from.back()]);
      types.push_back(facts_.types[operand]);
    }
    if (may_fold(step.op)) {
      facts_.known.push_back(known_reduction(v, types[0], operands[0]));
      if (facts_.is_number(v)) found_any_ = true, number_[v] = facts_.known[v]->low;
      return;
    }
    if (step.op == OpId::where) {
      for (const std::size_t branch : {1, 2}) {
        if (operands[branch])
          operands[branch] = known_under(facts_, from[0], branch == 1, from[branch], *operands[branch]);
      }
    }
    facts_.known.push_back(known_result(step.op, step.dtype, types, operands));
    if (step.op == OpId::bitwise_xor && from[0] == from[1] && facts_.is_integer(v))
      facts_.known[v] = only(step.dtype, 0);
    if (const std::optional<bool> ordered = known_order(facts_, step.op, from))
      facts_.known[v] = only(DType::boolean, *ordered);
    const bool same_types = std::ranges::all_of(types, [&](DType type) { return type == step.dtype; });
    if (same_types && facts_.is_integer(v)) {
      learn_linear(v, from);
      if (!simpler_[v]) simpler_[v] = simpler_quotient(step.op, from, operands);
    }
    if (simpler_[v]) found_any_ = true;
    if (facts_.stands_for[v] != v) return;
    if (is_copy(v)) {
      if (!kept_[v]) stand_for(v, from[0]);
      return;
    }
    std::optional<std::size_t> same = operand_it_is(step.op, operands);
    if (!same) same = known_extreme(facts_, step.op, from);
    if (same && types[*same] == step.dtype) {
      stand_for(v, from[*same]);
    } else if (facts_.is_number(v) && may_be_number(v)) {
      found_any_ = true, number_[v] = facts_.known[v]->low;
    } else if (const std::optional<LoopValue> earlier = same_instruction_before(v, from)) {
      stand_for(v, *earlier);
    }
  }

  /// Has another value read instead; what is kept becomes a copy of it, where it has as many elements.
  void stand_for(LoopValue v, LoopValue other) {
    if (!kept_[v]) {
      found_any_ = true;
      facts_.stands_for[v] = other, facts_.linear[v] = facts_.linear[other], facts_.known[v] = facts_.known[other];
    } else if (whole_[v] == whole_[other] && facts_.is_integer(other)) {
      found_any_ = true;
      simpler_[v] = {OpId::bitwise_or, other, other};
    }
  }
  /// Whole results of a loop over rows say how many elements there are; what reads numbers alone is one already.
  bool may_be_number(LoopValue v) const {
    if (!kept_[v]) return true;
    const bool reads_values = std::ranges::any_of(program_.operands_of(v), [&](LoopValue operand) {
      return operand < program_.inputs || facts_.is_instruction(operand);
    });
    return (!has_axes_ || !whole_[v]) && reads_values;
  }
  bool is_copy(LoopValue v) const {
    return facts_.op_of(v) == OpId::bitwise_or && facts_.operand_of(v, 0) == facts_.operand_of(v, 1);
  }

  /// An instruction before this one that does the same.
  std::optional<LoopValue> same_instruction_before(LoopValue v, std::span<const LoopValue> from) const {
    for (auto other = static_cast<LoopValue>(program_.first_instruction()); other < v; ++other) {
      const LoopInstruction &a = program_.instruction_of(other), &b = program_.instruction_of(v);
      if (a.op != b.op || a.dtype != b.dtype || facts_.stands_for[other] != other || number_[other]) continue;
      const auto reads = [&](std::size_t operand, std::size_t at) {
        return facts_.operand_of(other, operand) == from[at];
      };
      std::size_t i = 0;
      while (i < from.size() && reads(i, i)) ++i;
      const bool crossed =
          from.size() == 2 && definition(a.op).is(Traits::is_commutative) && reads(0, 1) && reads(1, 0);
      if (i == from.size() || (crossed && facts_.is_integer(v))) return other;
    }
    return std::nullopt;
  }

  /// What a linear instruction comes to: a number, another value, or less than it takes now.
  void learn_linear(LoopValue v, std::span<const LoopValue> from) {
    const DType type = facts_.types[v];
    std::vector<LinearInteger> operands;
    for (const LoopValue operand : from) operands.push_back(facts_.linear[operand]);
    const std::optional<LinearInteger> linear = linear_result(facts_.op_of(v), type, operands);
    if (!linear) return;
    facts_.linear[v] = *linear;
    const std::span<const LinearInteger::Term> terms = linear->terms();
    if (linear->is_number()) facts_.known[v] = only(type, number_of(type, linear->added));
    else if (terms.size() == 1 && terms[0].factor == 1 && linear->added == 0) stand_for(v, terms[0].base);
    else if (!kept_[v]) simpler_[v] = simpler_sum(facts_, v, from);
  }

  /// A choice that only one branch of another by the same condition reads is made already.
  void drop_choices_made() {
    const std::vector<int> readers = count_readers();
    for (auto v = static_cast<LoopValue>(program_.values()); v-- > program_.first_instruction();) {
      if (readers[v] == 0 || number_[v] || facts_.op_of(v) != OpId::where) continue;
      for (const std::size_t branch : {1, 2})
        choose_within(facts_.operand_of(v, branch), facts_.operand_of(v, 0), branch, readers);
    }
  }
  void choose_within(LoopValue value, LoopValue condition, std::size_t branch, const std::vector<int>& readers) {
    if (!facts_.is_instruction(value) || number_[value] || simpler_[value] || readers[value] != 1) return;
    if (kept_[value] || may_fold(facts_.op_of(value))) return;
    const bool is_made = facts_.op_of(value) == OpId::where && facts_.operand_of(value, 0) == condition;
    if (is_made && facts_.types[facts_.operand_of(value, branch)] == facts_.types[value]) {
      const LoopValue chosen = facts_.operand_of(value, branch);
      std::ranges::replace(facts_.stands_for, value, chosen);
      found_any_ = true;
      return choose_within(chosen, condition, branch, readers);
    }
    for (std::size_t i = 0; i < facts_.operands_of(value); ++i)
      choose_within(facts_.operand_of(value, i), condition, branch, readers);
  }

  /// Sums and products of rows wrap round; extremes are among what they are taken of.
  std::optional<KnownInteger> known_reduction(LoopValue v, DType type,
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

  LoopValue write(LoopBuilder& builder, LoopValue v, std::span<const LoopValue> made) const {
    if (number_[v]) {
      const Scalar number = facts_.types[v] == DType::boolean ? Scalar(*number_[v] != 0) : Scalar(*number_[v]);
      const LoopValue constant = builder.constant(number, facts_.types[v]);
      const OpId same = facts_.types[v] == DType::boolean ? OpId::logical_or : OpId::maximum;
      return kept_[v] ? builder.apply(same, facts_.types[v], {constant, constant}) : constant;
    }
    if (v < program_.first_instruction()) {
      const LoopConstant& constant = program_.constants[v - program_.inputs];
      return builder.constant(constant.value, constant.dtype);
    }
    if (const std::optional<SimplerInstruction>& each = simpler_[v]) {
      const LoopValue a = made[facts_.stands_for[each->a]];
      const LoopValue b =
          each->b ? made[facts_.stands_for[*each->b]] : builder.constant(Scalar(each->number), facts_.types[v]);
      if (each->number_first) return builder.apply(each->op, facts_.types[v], {b, a});
      return builder.apply(each->op, facts_.types[v], {a, b});
    }
    std::vector<LoopValue> operands;
    for (const LoopValue operand : program_.operands_of(v)) operands.push_back(made[facts_.stands_for[operand]]);
    return builder.apply(program_.instruction_of(v), operands);
  }

  const LoopProgram& program_;
  std::vector<bool> whole_;
  std::int64_t row_length_;
  bool has_axes_;
  IntegerFacts facts_;
  std::vector<std::optional<std::int64_t>> number_;         // what the value is, where it is one number
  std::vector<std::optional<SimplerInstruction>> simpler_;  // the instruction that gives the same
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

/// However an input lies that is no longer read, the others' elements follow one another as they did.
void forget_unread_layouts(BoundLoop& bound) {
  const LoopProgram& program = bound.loop.program;
  std::vector<bool> read(program.values());
  for (const LoopValue output : program.outputs) read[output] = true;
  for (std::size_t v = program.first_instruction(); v < program.values(); ++v) {
    for (const LoopValue operand : program.operands_of(v)) read[operand] = true;
  }
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    if (!read[i]) std::ranges::fill(bound.inputs[i].view.strides, 0);
  }
}

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
  forget_unread_layouts(bound);
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
