// SPDX-License-Identifier: MIT
// The operator `fused`: a group of element-wise operators and reductions as one node. The graph optimiser makes it;
// nobody writes it.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_rows.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"

namespace tyto::core {

namespace {

/// Types of all values, which are checked on the way as the operators themselves would check them.
std::vector<DType> value_types(const LoopAttributes& group, std::span<const TensorType> inputs) {
  std::vector<DType> types;
  types.reserve(inputs.size() + group.program.constants.size() + group.program.instructions.size());
  for (const TensorType& input : inputs) types.push_back(input.dtype);
  for (const LoopConstant& constant : group.program.constants) types.push_back(constant.dtype);
  for (const LoopInstruction& instruction : group.program.instructions) {
    const OpDef& def = definition(instruction.op);
    const bool fold = may_fold(instruction.op);
    if (!def.is(Traits::elementwise) && instruction.op != OpId::cast && !fold) {
      throw_error<GraphError>("fused: ", def.name,
                              " cannot be a step: it is neither element-wise nor a reduction that a group computes");
    }
    std::array<TensorType, std::tuple_size_v<decltype(LoopInstruction::operands)>> operands;
    const auto count = static_cast<std::size_t>(def.max_inputs);
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint16_t operand = instruction.operands[k];
      if (operand >= types.size())
        throw_error<GraphError>("fused: ", def.name, " reads value ", operand, ", which is not made before it");
      operands[k] = {types[operand], fold ? group.shape : Shape()};
    }
    if (instruction.op != OpId::cast) {
      const Attributes own = fold ? fold_attributes(instruction.op, group.axes) : NoAttributes{};
      const DType type = infer_types(def, own, std::span(operands).first(count))[0].dtype;
      if (type != instruction.dtype)
        throw_error<GraphError>("fused: ", def.name, " gives ", type, ", not ", instruction.dtype);
    }
    types.push_back(instruction.dtype);
  }
  return types;
}

std::vector<TensorType> infer_fused(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& group = get<LoopAttributes>(attributes);
  const LoopProgram& program = group.program;
  if (inputs.size() != program.inputs) {
    throw_error<GraphError>("fused: the program takes ", program.inputs, " inputs, given ", inputs.size());
  }
  for (const TensorType& input : inputs) {
    if (!broadcastable(input.shape, group.shape)) {
      throw_error<GraphError>("fused: input ", input.shape, " does not broadcast to ", group.shape);
    }
  }
  const std::vector<DType> types = value_types(group, inputs);
  const bool one_stage = ends_in_its_only_reduction(program);
  const auto folds = std::ranges::count_if(program.instructions,
                                           [](const LoopInstruction& instruction) { return may_fold(instruction.op); });
  if (folds == 0 && !group.axes.empty())
    throw_error<GraphError>("fused: it names axes but has no reduction to fold them");
  if (folds != 0 && group.axes.empty()) throw_error<GraphError>("fused: it has a reduction but names no axes for it");
  for (std::size_t i = 0; i < group.axes.size() && !one_stage; ++i) {
    const std::size_t axis = group.shape.size() - group.axes.size() + i;
    if (group.axes[i] != static_cast<std::int64_t>(axis))
      throw_error<GraphError>("fused: a group that goes on after a reduction reduces its last axes");
  }
  std::vector<Shape> shapes;
  for (const TensorType& input : inputs) shapes.push_back(input.shape);
  const std::vector<bool> whole = whole_values(group, shapes);
  for (const LoopInstruction& instruction : program.instructions) {
    if (may_fold(instruction.op) && !one_stage && !whole[instruction.operands[0]]) {
      throw_error<GraphError>("fused: ", definition(instruction.op).name, " reduces value ", instruction.operands[0],
                              ", which is reduced already");
    }
  }
  const Shape reduced = reduced_shape(group.shape, group.axes, true);
  std::vector<TensorType> results;
  for (const std::uint16_t output : program.outputs) {
    if (output >= types.size())
      throw_error<GraphError>("fused: result ", results.size(), " is value ", output, ", which nobody makes");
    if (!group.axes.empty() && !one_stage &&
        (output < program.first_instruction() || std::ranges::count(program.outputs, output) != 1)) {
      throw_error<GraphError>("fused: result ", results.size(), " is no step's, or another result as well");
    }
    results.push_back({types[output], whole[output] ? group.shape : reduced});
  }
  return results;
}

// Step by step, as if the group had never been formed.
std::vector<Value> lower_fused(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& group = get<LoopAttributes>(attributes);
  const LoopProgram& program = group.program;
  std::vector<TensorType> types;
  for (const Value& input : inputs) types.push_back({input.dtype(), input.shape()});
  const std::vector<TensorType> wanted = infer_fused(attributes, types);
  const auto stretched = [](const Value& value, const Shape& shape) {
    return value.shape() == shape ? value : emit(OpId::broadcast_to, ListAttributes{shape}, {value});
  };
  std::vector<Value> values(inputs.begin(), inputs.end());
  for (const LoopConstant& constant : program.constants) {
    values.push_back(scalar_constant(constant.value, constant.dtype));
  }
  for (const LoopInstruction& instruction : program.instructions) {
    if (may_fold(instruction.op)) {
      const Value whole = stretched(values[instruction.operands[0]], group.shape);
      values.push_back(emit(instruction.op, fold_attributes(instruction.op, group.axes), {whole}));
      continue;
    }
    Attributes own = NoAttributes{};
    if (instruction.op == OpId::cast) own = CastAttributes{instruction.dtype};
    std::vector<Value> operands;
    for (int k = 0; k < definition(instruction.op).max_inputs; ++k) {
      operands.push_back(values[instruction.operands[static_cast<std::size_t>(k)]]);
    }
    values.push_back(emit(instruction.op, std::move(own), operands));
  }
  std::vector<Value> results;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    results.push_back(stretched(values[program.outputs[i]], wanted[i].shape));
  }
  return results;
}

}  // namespace

std::span<const OpDef> fused_operators() {
  static const OpDef rows[] = {
      {.id = OpId::fused,
       .doc = "Element-wise operators and reductions as one, made by the optimiser after gradients were taken.",
       .min_inputs = 0,
       .max_inputs = 1 << 16,
       .traits = traits(Traits::takes_complex),
       .in_place = InPlace::same_index,
       .infer = infer_fused,
       .lower = lower_fused,
       .sample = [](DType t) -> Value {
         const LoopProgram twice{1, {}, {{OpId::add, t, {0, 0}}}, {1}};
         return emit(OpId::fused, LoopAttributes{{4}, {}, twice}, {samples::line(t)});
       }},
  };
  return rows;
}

}  // namespace tyto::core
