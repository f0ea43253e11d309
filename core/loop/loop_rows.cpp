// SPDX-License-Identifier: MIT
// Finds the values of a loop program that have one element a row: reductions, and what is computed from them alone.
#include "core/loop/loop_rows.hpp"

#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "core/value/shape.hpp"

namespace tyto::core {

bool may_fold(OpId op) {
  switch (op) {
    case OpId::sum:
    case OpId::mean:
    case OpId::prod:
    case OpId::min:
    case OpId::max:
    case OpId::var:
    case OpId::logsumexp: return true;
    default: return false;
  }
}

bool is_reduction(const LoopProgram& program, std::size_t value) {
  return value >= program.first_instruction() && may_fold(program.instruction_of(value).op);
}

bool has_reductions(const LoopProgram& program) {
  return std::ranges::any_of(program.instructions, may_fold, &LoopInstruction::op);
}

Attributes fold_attributes(OpId op, const IntList& axes) {
  if (op == OpId::var) return VarianceAttributes{axes, true, 0};
  return AxesAttributes{axes, true};
}

std::int64_t row_length(const Shape& shape, const IntList& axes) {
  std::int64_t length = 1;
  for (const std::int64_t axis : axes) length *= shape[static_cast<std::size_t>(axis)];
  return length;
}

bool ends_in_its_only_reduction(const LoopProgram& program) {
  if (program.instructions.empty() || program.outputs.size() != 1) return false;
  const auto folds =
      std::ranges::count_if(program.instructions, [](const LoopInstruction& step) { return may_fold(step.op); });
  return folds == 1 && may_fold(program.instructions.back().op) &&
         program.outputs[0] + std::size_t{1} == program.values();
}

std::vector<bool> whole_values(const LoopAttributes& group, std::span<const Shape> inputs) {
  const LoopProgram& program = group.program;
  std::vector<bool> whole(program.values(), true);
  if (group.axes.empty()) return whole;
  const Shape reduced = reduced_shape(group.shape, group.axes, true);
  for (std::size_t i = 0; i < program.first_instruction(); ++i) {
    whole[i] = i < program.inputs && !broadcastable(inputs[i], reduced);
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const LoopInstruction& step = program.instructions[i];
    bool any = ends_in_its_only_reduction(program);
    for (int k = 0; k < definition(step.op).max_inputs; ++k) {
      any = any || whole[step.operands[static_cast<std::size_t>(k)]];
    }
    whole[program.first_instruction() + i] = any && !may_fold(step.op);
  }
  return whole;
}

}  // namespace tyto::core
