// Values become registers of the type that each operator works in.
#include "devices/cpu/fused/translation.hpp"

#include "core/op_ids.hpp"
#include "devices/cpu/elementwise/domains.hpp"

namespace tyto::cpu {

using core::OpId;

Translation::Translation(const core::FusedProgram& program, std::span<const DType> inputs)
    : group_(program), types_(inputs.begin(), inputs.end()), registers_(program.values()) {
  for (const core::FusedConstant& constant : program.constants) types_.push_back(constant.dtype);
  for (const core::FusedStep& step : program.steps) {
    types_.push_back(step.dtype);
    add(step, types_.size() - 1);
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const std::uint16_t value = program.outputs[i];
    tiles_.output(as(value, types_[value]), static_cast<int>(i));
  }
}

Translation::Register Translation::as(std::uint16_t value, DType type) {
  const auto found = registers_[value].find(type);
  if (found != registers_[value].end()) return found->second;
  Register made = 0;
  if (value < group_.inputs) {
    made = tiles_.input(value, type);
  } else if (value < group_.first_step()) {
    const core::FusedConstant& constant = group_.constants[value - group_.inputs];
    made = tiles_.constant(constant.value, type);
  } else {
    made = tiles_.apply(OpId::cast, type, {registers_[value].at(types_[value])});
  }
  registers_[value][type] = made;
  return made;
}

void Translation::add(const core::FusedStep& step, std::size_t value) {
  Register result = 0;
  if (step.op == OpId::cast) {
    result = tiles_.apply(OpId::cast, step.dtype, {as(step.operands[0], types_[step.operands[0]])});
  } else {
    const int operands = core::definition(step.op).max_inputs;
    const core::Domain domain = core::definition(step.op).domain;
    const DType type = working_type(domain, types_[step.operands[static_cast<std::size_t>(operands - 1)]]);
    std::array<Register, 3> list{};
    Register last = 0;  // operands that the operator does not have repeat it
    for (std::size_t i = 0; i < 3; ++i) {
      const bool truth = domain == core::Domain::selection && i == 0;
      if (i < static_cast<std::size_t>(operands)) last = as(step.operands[i], truth ? DType::boolean : type);
      list[i] = last;
    }
    const DType made = domain == core::Domain::comparison ? DType::boolean : type;
    result = tiles_.apply(step.op, made, {list[0], list[1], list[2]});
    if (made != step.dtype) result = tiles_.apply(OpId::cast, step.dtype, {result});
  }
  registers_[value][step.dtype] = result;
}

}  // namespace tyto::cpu
