// Which steps are element programs, and how they read as such.
#include "devices/opencl/element_program.hpp"

#include "core/op_ids.hpp"
#include "devices/opencl/expressions.hpp"

namespace tyto::opencl {

using core::OpId;

bool is_elementwise(OpId op) {
  switch (op) {
    case OpId::copy:
    case OpId::cast:
    case OpId::fill:
    case OpId::arange:
    case OpId::eye:
    case OpId::random_uniform:
    case OpId::random_normal:
    case OpId::random_bernoulli: return true;
    default: return expression_of(op) != nullptr;
  }
}

std::optional<ElementProgram> element_program(const core::Step& step) {
  if (!is_elementwise(step.op)) return std::nullopt;
  ElementProgram program;
  program.name = core::definition(step.op).name;
  program.inputs.assign(step.inputs.begin(), step.inputs.end());
  program.outputs.assign(step.outputs.begin(), step.outputs.end());
  if (step.op == OpId::copy) {
    program.stored = {0};
    return program;
  }
  ElementProgram::Instruction instruction{step.op, step.outputs[0].dtype, {}};
  for (std::size_t i = 0; i < step.inputs.size(); ++i) instruction.operands.push_back(i);
  if (const auto* range = std::get_if<core::RangeAttributes>(step.attributes)) {
    instruction.constants = {range->start, range->step};
    if (step.op == OpId::eye) instruction.width = std::max<std::int64_t>(range->shape.back(), 1);
  }
  if (const auto* random = std::get_if<core::RandomAttributes>(step.attributes)) {
    instruction.constants = {random->first, random->second};
    instruction.draw = random->draw;
  }
  program.instructions.push_back(std::move(instruction));
  program.stored = {program.inputs.size()};
  return program;
}

}  // namespace tyto::opencl
