// SPDX-License-Identifier: MIT
// Values become registers of the type that each operator works in.
#include "devices/cpu/loop/interpreter/translation.hpp"

#include "core/graph/op_ids.hpp"
#include "devices/cpu/loop/interpreter/domains.hpp"

namespace tyto::cpu {

using core::OpId;

Translation::Translation(const core::LoopProgram& program, std::span<const DType> inputs, std::size_t written)
    : loop_(program),
      types_(core::value_types(program, inputs)),
      registers_(program.values()),
      made_(program.values()) {
  for (std::size_t v = program.first_instruction(); v < program.values(); ++v) add(program.instruction_of(v), v);
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const std::uint16_t value = program.outputs[i];
    const bool rounds =
        i >= written || value < program.first_instruction() || registers_[value].contains(types_[value]);
    tiles_.output(rounds ? as(value, types_[value]) : made_[value], static_cast<int>(i));
  }
}

Translation::Register Translation::as(std::uint16_t value, DType type) {
  const auto found = registers_[value].find(type);
  if (found != registers_[value].end()) return found->second;
  Register made = 0;
  if (value < loop_.inputs) {
    made = tiles_.input(value, type);
  } else if (value < loop_.first_instruction()) {
    made = tiles_.constant(loop_.constants[value - loop_.inputs].value, type);
  } else if (type == types_[value]) {
    made = tiles_.apply(OpId::cast, type, {made_[value]});
  } else {
    made = tiles_.apply(OpId::cast, type, {as(value, types_[value])});
  }
  registers_[value][type] = made;
  return made;
}

void Translation::add(const core::LoopInstruction& instruction, std::size_t value) {
  Register result = 0;
  if (instruction.op == OpId::cast) {
    result =
        tiles_.apply(OpId::cast, instruction.dtype, {as(instruction.operands[0], types_[instruction.operands[0]])});
  } else {
    const int operands = core::definition(instruction.op).max_inputs;
    const core::Domain domain = core::definition(instruction.op).domain;
    const DType type = working_type(domain, types_[instruction.operands[static_cast<std::size_t>(operands - 1)]]);
    std::array<Register, 3> list{};
    Register last = 0;  // operands that the operator does not have repeat it
    for (std::size_t i = 0; i < 3; ++i) {
      const bool truth = domain == core::Domain::selection && i == 0;
      if (i < static_cast<std::size_t>(operands)) last = as(instruction.operands[i], truth ? DType::boolean : type);
      list[i] = last;
    }
    const DType made = domain == core::Domain::comparison ? DType::boolean : type;
    result = tiles_.apply(instruction.op, made, {list[0], list[1], list[2]});
    if (made != instruction.dtype) {
      made_[value] = result;
      return;
    }
  }
  registers_[value][instruction.dtype] = made_[value] = result;
}

}  // namespace tyto::cpu
