// Values in order, each from what is known of its operands; then those that somebody still reads.
#include "core/known_values.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "core/known_integer.hpp"
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
        types_(value_types(program_, inputs)),
        stands_for_(program_.values()),
        easier_(program_.values()),
        kept_(program_.values()) {
    for (std::size_t v = 0; v < program_.values(); ++v) stands_for_[v] = static_cast<LoopValue>(v);
    for (const LoopValue output : program_.outputs) kept_[output] = true;
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      if (may_fold(program_.instruction_of(v).op)) kept_[program_.operands_of(v)[0]] = true;
    }
    for (std::size_t v = 0; v < program_.values(); ++v) learn(v);
  }

  bool found_any() const { return found_any_; }
  bool is_number(std::size_t value) const { return number_[value].has_value(); }

  /// The program of the values that its results still need.
  LoopProgram rest(std::span<const DType> inputs) const {
    std::vector<bool> read(program_.values());
    for (const LoopValue output : program_.outputs) read[stands_for_[output]] = true;
    for (std::size_t v = program_.values(); v-- > program_.first_instruction();) {
      if (!read[v] || number_[v]) continue;
      for (const LoopValue operand : program_.operands_of(v)) read[stands_for_[operand]] = true;
    }
    LoopBuilder builder(inputs);
    std::vector<LoopValue> made(program_.values());
    for (std::size_t v = 0; v < program_.values(); ++v) {
      if (v < program_.inputs) made[v] = static_cast<LoopValue>(v);
      else if (read[v]) made[v] = write(builder, v, made);
    }
    std::vector<LoopValue> outputs;
    for (const LoopValue output : program_.outputs) outputs.push_back(made[stands_for_[output]]);
    return builder.finish(outputs);
  }

 private:
  void learn(std::size_t v) {
    number_.push_back(std::nullopt);
    if (v < program_.inputs) {
      known_.push_back(any_of(types_[v]));
    } else if (v < program_.first_instruction()) {
      const LoopConstant& constant = program_.constants[v - program_.inputs];
      known_.push_back(only(constant.dtype, constant.value.as_int()));
    } else {
      learn_instruction(v);
    }
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
    known_.push_back(known_result(step.op, step.dtype, types, operands));
    if (kept_[v]) return;
    if (types[0] == step.dtype && step.dtype != DType::boolean) easier_[v] = easier(step.op, operands);
    if (easier_[v]) found_any_ = true;
    if (const std::optional<std::size_t> same = operand_it_is(step.op, operands)) {
      if (types[*same] == step.dtype) found_any_ = true, stands_for_[v] = from[*same];
    } else if (known_[v] && known_[v]->is_one_number()) {
      found_any_ = true, number_[v] = known_[v]->low;
    }
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

  /// An operator with a number as its second operand.
  struct ByNumber {
    OpId op;
    std::int64_t number;
  };

  /// What takes less than a quotient or remainder of a power of two, both of which are rounded down.
  static std::optional<ByNumber> easier(OpId op, std::span<const std::optional<KnownInteger>> operands) {
    if (op != OpId::floor_divide && op != OpId::remainder) return std::nullopt;
    if (!operands[0] || !operands[1] || !operands[1]->is_one_number() || operands[1]->low <= 0) return std::nullopt;
    const auto divisor = static_cast<std::uint64_t>(operands[1]->low);
    if (!std::has_single_bit(divisor)) return std::nullopt;
    if (op == OpId::remainder) return ByNumber{OpId::bitwise_and, static_cast<std::int64_t>(divisor - 1)};
    return ByNumber{OpId::right_shift, std::countr_zero(divisor)};
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
    std::vector<LoopValue> operands;
    for (const LoopValue operand : program_.operands_of(v)) operands.push_back(made[stands_for_[operand]]);
    if (const std::optional<ByNumber>& each = easier_[v]) {
      return builder.apply(each->op, types_[v], {operands[0], builder.constant(Scalar(each->number), types_[v])});
    }
    return builder.apply(program_.instruction_of(v), operands);
  }

  const LoopProgram& program_;
  std::vector<bool> whole_;
  std::int64_t row_length_;
  std::vector<DType> types_;
  std::vector<std::optional<KnownInteger>> known_;
  std::vector<std::optional<std::int64_t>> number_;  // what the value is, where it is one number
  std::vector<LoopValue> stands_for_;                // the value that is read instead
  std::vector<std::optional<ByNumber>> easier_;      // the operator that gives the same
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

void drop_known_values(BoundLoop& bound) {
  const LoopProgram& program = bound.loop.program;
  const auto is_of_integers = [](const LoopInstruction& step) { return any_of(step.dtype).has_value(); };
  if (program.instructions.size() < 2 || std::ranges::none_of(program.instructions, is_of_integers)) return;
  const std::vector<DType> inputs = bound.input_types();
  const Knowledge knowledge(bound, inputs);
  if (!knowledge.found_any()) return;
  LoopAttributes rest{bound.loop.shape, bound.loop.axes, knowledge.rest(inputs)};
  // What is made of rows alone is one element a row: the loop stays as it is if it would make less than it should.
  const auto always = [](std::size_t) { return true; };
  const auto not_known = [&](std::size_t value) { return !knowledge.is_number(value); };
  if (!rest.axes.empty() && whole_ends(rest, bound.given, always) != whole_ends(bound.loop, bound.given, not_known))
    return;
  bound.loop = std::move(rest);
}

}  // namespace tyto::core
