// Groups become element programs, reductions of what such a program computes, or programs over rows, in which
// variances and logarithms of sums are spelt out.
#include "devices/opencl/fused.hpp"

#include <algorithm>
#include <cmath>

#include "core/loop_rows.hpp"
#include "core/op_ids.hpp"
#include "devices/opencl/element_program.hpp"
#include "devices/opencl/expressions.hpp"
#include "devices/opencl/fold_text.hpp"
#include "devices/opencl/reduction.hpp"
#include "devices/opencl/row_kernel.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;
using Instruction = ElementProgram::Instruction;

std::size_t operands_of(OpId op) {
  const Expression* line = expression_of(op);
  return line == nullptr ? 1 : static_cast<std::size_t>(line->operands);
}

Instruction instruction_of(const core::LoopStep& step) {
  Instruction instruction{step.op, step.dtype, {}};
  for (std::size_t k = 0; k < operands_of(step.op); ++k) instruction.operands.push_back(step.operands[k]);
  return instruction;
}

std::vector<core::Operand> stretched(std::span<const core::Operand> inputs, const Shape& shape) {
  std::vector<core::Operand> out(inputs.begin(), inputs.end());
  for (core::Operand& input : out) input.view = core::broadcast_to(input.view, shape);
  return out;
}

// Each value is rounded to its type before the next instruction sees it, so the group gives what its operators would.
ElementProgram elements_of(const core::Step& step, const core::LoopAttributes& group) {
  ElementProgram program;
  program.name = "fused";
  program.inputs = stretched(step.inputs, group.shape);
  for (const core::LoopConstant& constant : group.program.constants) {
    program.instructions.push_back({OpId::fill, constant.dtype, {}, {constant.value, 0}});
  }
  for (const core::LoopStep& made : group.program.steps) program.instructions.push_back(instruction_of(made));
  program.stored.assign(group.program.outputs.begin(), group.program.outputs.end());
  program.outputs.assign(step.outputs.begin(), step.outputs.end());
  return program;
}

Recipe one_reduction(const Context& context, const core::Step& step, const core::LoopAttributes& group) {
  ElementProgram elements = elements_of(step, group);
  const Instruction last = elements.instructions.back();
  elements.instructions.pop_back();
  elements.stored = last.operands;
  elements.outputs.clear();
  const std::size_t value = last.operands[0];
  const DType type = value < elements.inputs.size() ? elements.inputs[value].dtype
                                                    : elements.instructions[value - elements.inputs.size()].dtype;
  return computed_reduction_recipe(context,
                                   {last.op, std::move(elements), type, group.shape, group.axes, step.outputs[0]});
}

/// A program over rows in the making.
class Rows {
 public:
  Rows(const Context& context, std::string_view name, std::span<const core::Operand> inputs, const Shape& shape,
       const IntList& axes)
      : context_(context) {
    program_.elements.name = name;
    program_.elements.inputs = stretched(inputs, shape);
    program_.shape = shape;
    program_.axes = axes;
    program_.whole.assign(inputs.size(), true);
  }

  void input_is_whole(std::size_t i, bool whole) { program_.whole[i] = whole; }

  std::size_t add(Instruction instruction, bool whole) {
    program_.elements.instructions.push_back(std::move(instruction));
    program_.whole.push_back(whole);
    return program_.whole.size() - 1;
  }
  std::size_t add(OpId op, DType dtype, std::vector<std::size_t> operands) {
    bool whole = false;
    for (const std::size_t operand : operands) whole = whole || program_.whole[operand];
    return add({op, dtype, std::move(operands)}, whole);
  }
  std::size_t number(double value, DType dtype) { return add({OpId::fill, dtype, {}, {Scalar(value), 0}}, false); }
  std::size_t fold(OpId op, DType dtype, std::size_t value) { return add({op, dtype, {value}}, false); }
  std::size_t as(DType dtype, std::size_t value) {
    return type(value) == dtype ? value : add(OpId::cast, dtype, {value});
  }

  // What is squared or exponentiated on the way is not rounded to a narrow type before it is added up.
  std::size_t variance(DType dtype, std::size_t value, std::int64_t ddof) {
    const DType wide = wide_enough(type(value));
    const std::size_t elements = as(wide, value);
    const std::size_t apart = add(OpId::subtract, wide, {elements, fold(OpId::mean, wide, elements)});
    const std::size_t squares = fold(OpId::sum, wide, add(OpId::square, wide, {apart}));
    std::int64_t count = 1;
    for (const std::int64_t axis : program_.axes) count *= program_.shape[static_cast<std::size_t>(axis)];
    const std::size_t divisor = number(static_cast<double>(std::max<std::int64_t>(count - ddof, 0)), wide);
    return as(dtype, add(OpId::divide, wide, {squares, divisor}));
  }
  std::size_t log_sum_exp(DType dtype, std::size_t value) {
    const DType wide = wide_enough(type(value));
    const std::size_t elements = as(wide, value);
    const std::size_t largest = fold(OpId::max, wide, elements);
    const std::size_t finite = add(OpId::isfinite, DType::boolean, {largest});
    const std::size_t shift = add(OpId::where, wide, {finite, largest, number(0, wide)});
    const std::size_t terms = add(OpId::exp, wide, {add(OpId::subtract, wide, {elements, shift})});
    const std::size_t logarithm = add(OpId::log, wide, {fold(OpId::sum, wide, terms)});
    return as(dtype, add(OpId::add, wide, {logarithm, shift}));
  }
  std::size_t softmax(DType dtype, std::size_t value, bool logarithm) {
    const DType wide = wide_enough(type(value));
    const std::size_t elements = as(wide, value);
    const std::size_t below = add(OpId::subtract, wide, {elements, fold(OpId::max, wide, elements)});
    const std::size_t terms = add(OpId::exp, wide, {below});
    const std::size_t total = fold(OpId::sum, wide, terms);
    if (!logarithm) return as(dtype, add(OpId::divide, wide, {terms, total}));
    return as(dtype, add(OpId::subtract, wide, {below, add(OpId::log, wide, {total})}));
  }

  Recipe recipe(std::vector<std::size_t> stored, std::span<const core::Operand> outputs) {
    program_.elements.stored = std::move(stored);
    program_.elements.outputs.assign(outputs.begin(), outputs.end());
    return row_recipe(context_, program_);
  }

 private:
  DType type(std::size_t value) const {
    const std::size_t inputs = program_.elements.inputs.size();
    return value < inputs ? program_.elements.inputs[value].dtype
                          : program_.elements.instructions[value - inputs].dtype;
  }
  DType wide_enough(DType dtype) const { return FoldText::wide_enough(dtype, context_.has_f64); }

  const Context& context_;
  RowProgram program_;
};

Recipe rows_of_group(const Context& context, const core::Step& step, const core::LoopAttributes& group) {
  const core::LoopProgram& program = group.program;
  std::vector<Shape> shapes;
  for (const core::Operand& input : step.inputs) shapes.push_back(input.view.shape);
  const std::vector<bool> whole = core::whole_values(group, shapes);
  Rows rows(context, "fused", step.inputs, group.shape, group.axes);
  std::vector<std::size_t> value_of;
  for (std::size_t i = 0; i < program.inputs; ++i) {
    rows.input_is_whole(i, whole[i]);
    value_of.push_back(i);
  }
  for (const core::LoopConstant& constant : program.constants) {
    value_of.push_back(rows.add({OpId::fill, constant.dtype, {}, {constant.value, 0}}, false));
  }
  for (const core::LoopStep& made : program.steps) {
    Instruction instruction = instruction_of(made);
    for (std::size_t& operand : instruction.operands) operand = value_of[operand];
    if (made.op == OpId::var) {
      value_of.push_back(rows.variance(made.dtype, instruction.operands[0], 0));
    } else if (made.op == OpId::logsumexp) {
      value_of.push_back(rows.log_sum_exp(made.dtype, instruction.operands[0]));
    } else {
      value_of.push_back(rows.add(std::move(instruction), whole[value_of.size()]));
    }
  }
  std::vector<std::size_t> stored;
  for (const std::uint16_t output : program.outputs) stored.push_back(value_of[output]);
  return rows.recipe(std::move(stored), step.outputs);
}

/// The output with ones where axes were reduced.
core::Operand with_axes(core::Operand output, const Shape& shape, IntList axes) {
  if (output.view.rank() == shape.rank()) return output;
  std::ranges::sort(axes);
  for (const std::int64_t axis : axes) {
    output.view.shape.insert(static_cast<std::size_t>(axis), 1);
    output.view.strides.insert(static_cast<std::size_t>(axis), 0);
  }
  return output;
}

Recipe rows_of_operator(const Context& context, const core::Step& step) {
  const Shape& shape = step.inputs[0].view.shape;
  const DType dtype = step.outputs[0].dtype;
  if (const auto* along = std::get_if<core::AxisAttributes>(step.attributes)) {
    const std::int64_t axis = along->axis < 0 ? along->axis + shape.rank() : along->axis;
    Rows rows(context, core::definition(step.op).name, step.inputs, shape, {axis});
    return rows.recipe({rows.softmax(dtype, 0, step.op == OpId::log_softmax)}, step.outputs);
  }
  const auto* variance = std::get_if<core::VarianceAttributes>(step.attributes);
  if (variance != nullptr) {
    if (std::optional<Recipe> recipe = variance_by_reductions(context, step)) return *std::move(recipe);
  }
  const IntList axes = variance != nullptr ? variance->axes : std::get<core::AxesAttributes>(*step.attributes).axes;
  Rows rows(context, core::definition(step.op).name, step.inputs, shape, axes);
  const std::size_t value = variance != nullptr ? rows.variance(dtype, 0, variance->ddof) : rows.log_sum_exp(dtype, 0);
  const core::Operand output = with_axes(step.outputs[0], shape, axes);
  return rows.recipe({value}, {&output, 1});
}

}  // namespace

bool is_row_operator(OpId op) {
  return op == OpId::var || op == OpId::logsumexp || op == OpId::softmax || op == OpId::log_softmax;
}

Recipe fused_recipe(const Context& context, const core::Step& step) {
  if (step.op != OpId::fused) return rows_of_operator(context, step);
  const auto& group = std::get<core::LoopAttributes>(*step.attributes);
  if (group.axes.empty()) return element_recipe(context, elements_of(step, group));
  const bool folds_last =
      core::ends_in_its_only_reduction(group.program) && folds(instruction_of(group.program.steps.back()));
  return folds_last ? one_reduction(context, step, group) : rows_of_group(context, step, group);
}

}  // namespace tyto::opencl
