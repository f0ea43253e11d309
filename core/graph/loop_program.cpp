// SPDX-License-Identifier: MIT
// Reading, hashing and printing of loop programs.
#include "core/graph/loop_program.hpp"

#include <bit>

#include "core/graph/op_ids.hpp"
#include "core/value/hash.hpp"
#include "core/value/stored_scalar.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

std::span<const LoopValue> LoopProgram::operands_of(std::size_t value) const {
  const LoopInstruction& step = instruction_of(value);
  return {step.operands.data(), static_cast<std::size_t>(definition(step.op).max_inputs)};
}

std::vector<DType> value_types(const LoopProgram& program, std::span<const DType> inputs) {
  std::vector<DType> types(inputs.begin(), inputs.end());
  for (const LoopConstant& constant : program.constants) types.push_back(constant.dtype);
  for (const LoopInstruction& step : program.instructions) types.push_back(step.dtype);
  return types;
}

std::size_t hash_of(const LoopProgram& program) {
  std::size_t seed = program.inputs;
  const auto mix = [&](std::size_t value) { seed = mixed_hash(seed, value); };
  for (const LoopConstant& constant : program.constants) {
    mix(static_cast<std::size_t>(constant.dtype));
    mix(std::bit_cast<std::uint64_t>(constant.value.as_double()));
    mix(std::bit_cast<std::uint64_t>(constant.value.imaginary()));
  }
  for (const LoopInstruction& step : program.instructions) {
    mix(static_cast<std::size_t>(step.op));
    mix(static_cast<std::size_t>(step.dtype));
    for (const std::uint16_t operand : step.operands) mix(operand);
  }
  for (const std::uint16_t output : program.outputs) mix(output);
  return seed;
}

std::string to_string(const LoopProgram& program) {
  const auto name = [&](std::size_t value) {
    if (value < program.inputs) return text("x", value);
    if (value >= program.first_instruction()) return text("v", value - program.first_instruction());
    return to_string(program.constants[value - program.inputs].value);
  };
  std::string out;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const LoopInstruction& step = program.instructions[i];
    const OpDef& def = definition(step.op);
    out += text(i == 0 ? "" : "; ", "v", i, "=");
    // A cast is named by the type that it makes.
    out += step.op == OpId::cast ? text(step.dtype) : std::string(def.name);
    for (int k = 0; k < def.max_inputs; ++k) {
      out += text(k == 0 ? "(" : ",", name(step.operands[static_cast<std::size_t>(k)]));
    }
    out += ')';
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    out += text(i == 0 ? " -> " : ",", name(program.outputs[i]));
  }
  return out;
}

}  // namespace tyto::core
