// SPDX-License-Identifier: MIT
// Numbers constants before instructions, in whatever order they were added.
#include "core/loop/loop_builder.hpp"

#include <algorithm>

#include "core/graph/op_ids.hpp"

namespace tyto::core {

LoopBuilder::LoopBuilder(std::span<const DType> inputs) : inputs_(static_cast<std::uint16_t>(inputs.size())) {
  for (std::size_t i = 0; i < inputs.size(); ++i) add(Kind::input, inputs[i], i);
}

LoopValue LoopBuilder::add(Kind kind, DType dtype, std::size_t at) {
  made_.push_back({kind, dtype, at});
  return static_cast<LoopValue>(made_.size() - 1);
}

LoopValue LoopBuilder::constant(Scalar value, DType dtype) {
  constants_.push_back({value, dtype});
  return add(Kind::constant, dtype, constants_.size() - 1);
}

LoopValue LoopBuilder::apply(const LoopInstruction& step, std::span<const LoopValue> operands) {
  instructions_.push_back({step.op, step.dtype, {}});
  std::ranges::copy(operands, instructions_.back().operands.begin());
  return add(Kind::step, step.dtype, instructions_.size() - 1);
}

LoopValue LoopBuilder::apply(OpId op, DType dtype, std::initializer_list<LoopValue> operands) {
  return apply({op, dtype, {}}, std::span(operands.begin(), operands.size()));
}

LoopValue LoopBuilder::as(DType dtype, LoopValue value) {
  return type(value) == dtype ? value : apply(OpId::cast, dtype, {value});
}

LoopProgram LoopBuilder::finish(std::span<const LoopValue> outputs) const {
  const auto number = [&](LoopValue value) {
    const Made& made = made_[value];
    const std::size_t before = made.kind == Kind::input      ? 0
                               : made.kind == Kind::constant ? inputs_
                                                             : inputs_ + constants_.size();
    return static_cast<LoopValue>(before + made.at);
  };
  LoopProgram program{inputs_, constants_, instructions_, {}};
  for (LoopInstruction& step : program.instructions) {
    const auto operands = static_cast<std::size_t>(definition(step.op).max_inputs);
    for (std::size_t k = 0; k < operands; ++k) step.operands[k] = number(step.operands[k]);
  }
  for (const LoopValue output : outputs) program.outputs.push_back(number(output));
  return program;
}

}  // namespace tyto::core
