// SPDX-License-Identifier: MIT
// Casts each value of a loop program once to every type that it is read in.
#include "devices/cpu/loop/loop_types.hpp"

#include <array>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "core/loop/loop_rows.hpp"

namespace tyto::cpu {

namespace {

using core::LoopValue;
using core::OpId;

class CastWriter {
 public:
  CastWriter(const core::LoopProgram& program, std::span<const DType> inputs)
      : program_(program),
        types_(core::value_types(program, inputs)),
        builder_(inputs),
        made_(program.values()),
        casts_(program.values()) {
    for (auto& of_value : casts_) of_value.fill(none);
    for (std::size_t v = 0; v < program.inputs; ++v) keep(v, types_[v], static_cast<LoopValue>(v));
    for (std::size_t v = program.first_instruction(); v < program.values(); ++v) add(program.instruction_of(v), v);
  }

  core::LoopProgram take() {
    std::vector<LoopValue> outputs;
    for (const LoopValue value : program_.outputs) {
      const bool rounded = value < program_.first_instruction() || cast_of(value, types_[value]) != none;
      outputs.push_back(rounded ? as(value, types_[value]) : made_[value]);
    }
    return builder_.finish(outputs);
  }

 private:
  static constexpr LoopValue none = ~LoopValue{0};

  LoopValue& cast_of(std::size_t value, DType type) { return casts_[value][static_cast<std::size_t>(type)]; }
  LoopValue keep(std::size_t value, DType type, LoopValue made) { return cast_of(value, type) = made; }

  /// The value in the given type.
  LoopValue as(LoopValue value, DType type) {
    if (const LoopValue known = cast_of(value, type); known != none) return known;
    if (value >= program_.inputs && value < program_.first_instruction())
      return keep(value, type, builder_.constant(program_.constants[value - program_.inputs].value, type));
    // Results of operators are rounded to their type before they are read.
    const LoopValue from = value < program_.inputs ? value
                           : type == types_[value] ? made_[value]
                                                   : as(value, types_[value]);
    return keep(value, type, builder_.apply(OpId::cast, type, {from}));
  }

  void add(const core::LoopInstruction& step, std::size_t value) {
    std::array<LoopValue, 3> operands{};
    const core::OpDef& def = core::definition(step.op);
    const auto count = static_cast<std::size_t>(def.max_inputs);
    DType made = step.dtype;
    if (step.op == OpId::cast || core::may_fold(step.op)) {
      operands[0] = as(step.operands[0], types_[step.operands[0]]);
    } else {
      const DType type = working_type(def.domain, types_[step.operands[count - 1]]);
      for (std::size_t i = 0; i < count; ++i) {
        const bool truth = def.domain == core::Domain::selection && i == 0;
        operands[i] = as(step.operands[i], truth ? DType::boolean : type);
      }
      made = def.domain == core::Domain::comparison ? DType::boolean : type;
    }
    made_[value] = builder_.apply({step.op, made, {}}, {operands.data(), count});
    if (made == step.dtype) keep(value, made, made_[value]);
  }

  const core::LoopProgram& program_;
  std::vector<DType> types_;  // by value, as all that follows
  core::LoopBuilder builder_;
  std::vector<LoopValue> made_;                   // as the operator made it, not rounded yet
  std::vector<std::array<LoopValue, 16>> casts_;  // by type: the value in it, or none
};

}  // namespace

bool is_cast_input(const core::LoopProgram& program, std::size_t value) {
  if (value < program.first_instruction()) return false;
  const core::LoopInstruction& step = program.instruction_of(value);
  return step.op == OpId::cast && step.operands[0] < program.inputs;
}

core::LoopProgram with_explicit_casts(const core::LoopProgram& program, std::span<const DType> inputs) {
  return CastWriter(program, inputs).take();
}

}  // namespace tyto::cpu
