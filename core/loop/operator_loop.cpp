// SPDX-License-Identifier: MIT
// Makes loops of single operators; reductions of several stages are spelt out, with squares and exponentials in f32.
#include "core/loop/operator_loop.hpp"

#include <algorithm>
#include <bit>

#include "core/graph/op_ids.hpp"
#include "core/loop/complex_loop.hpp"
#include "core/loop/loop_builder.hpp"
#include "core/loop/loop_rows.hpp"

namespace tyto::core {

namespace {

/// Writes reductions of several stages over the elements of rows of some length.
class Stages {
 public:
  Stages(LoopBuilder& builder, std::int64_t length, bool has_f64)
      : builder_(builder), length_(length), has_f64_(has_f64) {}

  LoopValue variance(DType dtype, LoopValue value, std::int64_t ddof) {
    const DType wide = wide_enough(builder_.type(value), has_f64_);
    const LoopValue elements = builder_.as(wide, value);
    const LoopValue mean = builder_.apply(OpId::mean, wide, {elements});
    const LoopValue apart = builder_.apply(OpId::subtract, wide, {elements, mean});
    const LoopValue squares = builder_.apply(OpId::sum, wide, {builder_.apply(OpId::square, wide, {apart})});
    const auto divisor = static_cast<double>(std::max<std::int64_t>(length_ - ddof, 0));
    return builder_.as(dtype, builder_.apply(OpId::divide, wide, {squares, builder_.constant(divisor, wide)}));
  }

  LoopValue log_sum_exp(DType dtype, LoopValue value) {
    const DType wide = wide_enough(builder_.type(value), has_f64_);
    const LoopValue elements = builder_.as(wide, value);
    const LoopValue largest = builder_.apply(OpId::max, wide, {elements});
    const LoopValue finite = builder_.apply(OpId::isfinite, DType::boolean, {largest});
    const LoopValue shift = builder_.apply(OpId::where, wide, {finite, largest, builder_.constant(0.0, wide)});
    const LoopValue terms = builder_.apply(OpId::exp, wide, {builder_.apply(OpId::subtract, wide, {elements, shift})});
    const LoopValue logarithm = builder_.apply(OpId::log, wide, {builder_.apply(OpId::sum, wide, {terms})});
    return builder_.as(dtype, builder_.apply(OpId::add, wide, {logarithm, shift}));
  }

  LoopValue softmax(DType dtype, LoopValue value, bool logarithm) {
    const DType wide = wide_enough(builder_.type(value), has_f64_), total = has_f64_ ? DType::f64 : wide;
    const LoopValue elements = builder_.as(wide, value);
    const LoopValue below =
        builder_.apply(OpId::subtract, wide, {elements, builder_.apply(OpId::max, wide, {elements})});
    const LoopValue terms = builder_.apply(OpId::exp, wide, {below});
    const LoopValue sum = builder_.apply(OpId::sum, total, {terms});
    if (logarithm) {
      const LoopValue shift = builder_.as(wide, builder_.apply(OpId::log, total, {sum}));
      return builder_.as(dtype, builder_.apply(OpId::subtract, wide, {below, shift}));
    }
    const LoopValue share = builder_.as(wide, builder_.apply(OpId::reciprocal, total, {sum}));
    return builder_.as(dtype, builder_.apply(OpId::multiply, wide, {terms, share}));
  }

 private:
  LoopBuilder& builder_;
  std::int64_t length_;
  bool has_f64_;
};

/// The view with ones where axes were reduced.
View with_axes(View view, const Shape& shape, IntList axes) {
  if (view.rank() == shape.rank()) return view;
  std::ranges::sort(axes);
  for (const std::int64_t axis : axes) {
    view.shape.insert(static_cast<std::size_t>(axis), 1);
    view.strides.insert(static_cast<std::size_t>(axis), 0);
  }
  return view;
}

BoundLoop operands_of(const Step& step) {
  BoundLoop bound;
  bound.inputs.assign(step.inputs.begin(), step.inputs.end());
  bound.outputs.assign(step.outputs.begin(), step.outputs.end());
  for (const Operand& input : bound.inputs) bound.given.push_back(input.view.shape);
  return bound;
}

BoundLoop elementwise_loop(const Step& step) {
  BoundLoop bound = operands_of(step);
  bound.loop.shape = step.outputs[0].view.shape;
  LoopProgram& program = bound.loop.program;
  program.inputs = static_cast<std::uint16_t>(step.inputs.size());
  if (step.op != OpId::copy) {
    LoopInstruction only{step.op, step.outputs[0].dtype, {}};
    for (std::uint16_t i = 0; i < program.inputs; ++i) only.operands[i] = i;
    program.instructions.push_back(only);
  }
  program.outputs = {static_cast<std::uint16_t>(program.values() - 1)};
  return bound;
}

BoundLoop softmax_loop(const Step& step, bool has_f64) {
  BoundLoop bound = operands_of(step);
  for (Operand* operand : {&bound.inputs[0], &bound.outputs[0]}) {
    if (operand->view.rank() == 0) operand->view = View{{1}, {1}, operand->view.offset};
  }
  bound.given = {bound.inputs[0].view.shape};
  bound.loop.shape = bound.inputs[0].view.shape;
  const std::int64_t axis = std::get<AxisAttributes>(*step.attributes).axis;
  bound.loop.axes = {axis < 0 ? axis + bound.loop.shape.rank() : axis};
  LoopBuilder builder(bound.input_types());
  Stages stages(builder, row_length(bound.loop.shape, bound.loop.axes), has_f64);
  const LoopValue made = stages.softmax(bound.outputs[0].dtype, 0, step.op == OpId::log_softmax);
  bound.loop.program = builder.finish({&made, 1});
  return bound;
}

/// A loop over no axes reduces each element on its own: rows of length one.
void reduce_single_elements(BoundLoop& bound) {
  const auto with_one = [](View& view) {
    view.shape.push_back(1);
    view.strides.push_back(1);
  };
  bound.loop.axes = {bound.loop.shape.rank()};
  bound.loop.shape.push_back(1);
  with_one(bound.inputs[0].view);
  with_one(bound.outputs[0].view);
  bound.given = {bound.loop.shape};
}

BoundLoop statistic_loop(const Step& step, bool has_f64) {
  BoundLoop bound = operands_of(step);
  const auto* variance = std::get_if<VarianceAttributes>(step.attributes);
  bound.loop.shape = bound.inputs[0].view.shape;
  bound.loop.axes = variance != nullptr ? variance->axes : std::get<AxesAttributes>(*step.attributes).axes;
  bound.outputs[0].view = with_axes(bound.outputs[0].view, bound.loop.shape, bound.loop.axes);
  if (bound.loop.axes.empty()) reduce_single_elements(bound);
  LoopBuilder builder(bound.input_types());
  Stages stages(builder, row_length(bound.loop.shape, bound.loop.axes), has_f64);
  const DType dtype = bound.outputs[0].dtype;
  const LoopValue made = variance != nullptr ? stages.variance(dtype, 0, variance->ddof) : stages.log_sum_exp(dtype, 0);
  bound.loop.program = builder.finish({&made, 1});
  return bound;
}

BoundLoop group_loop(const Step& step) {
  BoundLoop bound = operands_of(step);
  bound.loop = std::get<LoopAttributes>(*step.attributes);
  for (Operand& input : bound.inputs) input.view = broadcast_to(input.view, bound.loop.shape);
  return bound;
}

}  // namespace

DType wide_enough(DType type, bool has_f64) {
  if (type == DType::f64) return type;
  return is_floating(type) || !has_f64 ? DType::f32 : DType::f64;
}

namespace {

/// Quotients and remainders of powers of two, which are rounded down, as shifts and masks: processors have no vector
/// quotient of integers.
void divide_by_shifts(BoundLoop& bound) {
  const LoopProgram& program = bound.loop.program;
  const auto divides = [](OpId op) { return op == OpId::floor_divide || op == OpId::remainder; };
  if (std::ranges::none_of(program.instructions, [&](const LoopInstruction& step) { return divides(step.op); })) return;
  const auto power_of_two = [&](const LoopInstruction& step) -> std::int64_t {
    const std::size_t at = step.operands[1];
    if (!divides(step.op) || !is_integer(step.dtype) || step.dtype == DType::u64) return 0;
    if (at < program.inputs || at >= program.first_instruction()) return 0;
    const LoopConstant& constant = program.constants[at - program.inputs];
    const std::int64_t divisor = constant.dtype == step.dtype ? constant.value.as_int() : 0;
    return divisor > 0 && std::has_single_bit(static_cast<std::uint64_t>(divisor)) ? divisor : 0;
  };
  bound.loop.program = rewritten(program, bound.input_types(), [&](LoopBuilder& builder, auto& step, auto from) {
    const std::int64_t divisor = power_of_two(step);
    if (divisor == 0) return builder.apply(step, from);
    if (step.op == OpId::remainder)
      return builder.apply(OpId::bitwise_and, step.dtype, {from[0], builder.constant(divisor - 1, step.dtype)});
    const int count = std::countr_zero(static_cast<std::uint64_t>(divisor));
    return builder.apply(OpId::right_shift, step.dtype, {from[0], builder.constant(count, step.dtype)});
  });
}

std::optional<BoundLoop> whole_loop(const Step& step, bool has_f64) {
  switch (step.op) {
    case OpId::fused: return group_loop(step);
    case OpId::softmax:
    case OpId::log_softmax: return softmax_loop(step, has_f64);
    case OpId::var:
    case OpId::logsumexp: return statistic_loop(step, has_f64);
    case OpId::cast:
    case OpId::copy: return elementwise_loop(step);
    default: break;
  }
  if (!is_listed_elementwise(step.op)) return std::nullopt;
  return elementwise_loop(step);
}

}  // namespace

std::optional<BoundLoop> loop_of(const Step& step, bool has_f64) {
  std::optional<BoundLoop> bound = whole_loop(step, has_f64);
  if (bound && is_complex(*bound)) bound = in_parts(*bound, has_f64);
  if (bound && step.op == OpId::fused) divide_by_shifts(*bound);
  return bound;
}

BoundLoop with_simple_reductions(const BoundLoop& bound, bool has_f64) {
  const std::int64_t length = row_length(bound.loop.shape, bound.loop.axes);
  BoundLoop spelt = bound;
  spelt.loop.program =
      rewritten(bound.loop.program, bound.input_types(), [&](LoopBuilder& builder, auto& step, auto from) {
        Stages stages(builder, length, has_f64);
        if (step.op == OpId::var) return stages.variance(step.dtype, from[0], 0);
        if (step.op == OpId::logsumexp) return stages.log_sum_exp(step.dtype, from[0]);
        return builder.apply(step, from);
      });
  return spelt;
}

}  // namespace tyto::core
