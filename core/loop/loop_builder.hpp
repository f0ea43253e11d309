// SPDX-License-Identifier: MIT
// LoopBuilder writes loop programs: values are added in any order, and numbered as LoopProgram asks when it finishes.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "core/graph/loop_program.hpp"

namespace tyto::core {

class LoopBuilder {
 public:
  /// The inputs are the first values.
  explicit LoopBuilder(std::span<const DType> inputs);

  LoopValue constant(Scalar value, DType dtype);
  LoopValue apply(OpId op, DType dtype, std::initializer_list<LoopValue> operands);
  /// The same instruction on these operands.
  LoopValue apply(const LoopInstruction& step, std::span<const LoopValue> operands);
  /// The value in another type, or itself.
  LoopValue as(DType dtype, LoopValue value);

  DType type(LoopValue value) const { return made_[value].dtype; }

  LoopProgram finish(std::span<const LoopValue> outputs) const;

 private:
  enum class Kind : std::uint8_t { input, constant, step };
  struct Made {
    Kind kind;
    DType dtype;
    std::size_t at;  // among its kind
  };
  LoopValue add(Kind kind, DType dtype, std::size_t at);

  std::vector<Made> made_;
  std::uint16_t inputs_;
  std::vector<LoopConstant> constants_;
  std::vector<LoopInstruction> instructions_;
};

/// The program with each instruction as `write(builder, instruction, operands)` spells it.
template <class F>
LoopProgram rewritten(const LoopProgram& program, std::span<const DType> inputs, F&& write) {
  LoopBuilder builder(inputs);
  std::vector<LoopValue> made(program.values());
  for (std::size_t v = 0; v < program.values(); ++v) {
    if (v < program.inputs) {
      made[v] = static_cast<LoopValue>(v);
    } else if (v < program.first_instruction()) {
      const LoopConstant& constant = program.constants[v - program.inputs];
      made[v] = builder.constant(constant.value, constant.dtype);
    } else {
      std::vector<LoopValue> operands;
      for (const LoopValue operand : program.operands_of(v)) operands.push_back(made[operand]);
      made[v] = write(builder, program.instruction_of(v), std::span<const LoopValue>(operands));
    }
  }
  std::vector<LoopValue> outputs;
  for (const LoopValue output : program.outputs) outputs.push_back(made[output]);
  return builder.finish(outputs);
}

}  // namespace tyto::core
