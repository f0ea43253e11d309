// SPDX-License-Identifier: MIT
// Lists the operators that are loops, and chooses the kernel of each.
#include "devices/opencl/loops/named_loop.hpp"

#include <algorithm>
#include <iterator>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_rows.hpp"
#include "core/loop/operator_loop.hpp"
#include "devices/opencl/loops/reduction.hpp"
#include "devices/opencl/text/complex_pairs.hpp"

namespace tyto::opencl {

namespace {

bool makes_numbers(OpId op) {
  switch (op) {
    case OpId::fill:
    case OpId::arange:
    case OpId::eye:
    case OpId::random_uniform:
    case OpId::random_normal:
    case OpId::random_bernoulli:
    case OpId::random_integers:
    case OpId::random_truncated_normal:
    case OpId::random_exponential:
    case OpId::random_gamma: return true;
    default: return false;
  }
}

/// One step, whose operand, where it has one, is the key of a draw.
core::BoundLoop loop_making_numbers(const core::Step& step) {
  core::BoundLoop bound;
  bound.inputs.assign(step.inputs.begin(), step.inputs.end());
  bound.outputs.assign(step.outputs.begin(), step.outputs.end());
  bound.loop.shape = step.outputs[0].view.shape;
  core::LoopProgram& program = bound.loop.program;
  program.inputs = static_cast<std::uint16_t>(step.inputs.size());
  program.instructions = {{step.op, step.outputs[0].dtype, {}}};
  program.outputs = {program.inputs};
  return bound;
}

/// The elements are computed where the loop's only reduction reads them.
LaunchPlan one_reduction(const Context& context, NamedLoop loop) {
  core::LoopProgram& program = loop.bound.loop.program;
  const core::LoopInstruction last = program.instructions.back();
  program.instructions.pop_back();
  program.outputs = {last.operands[0]};
  const core::Operand output = loop.bound.outputs[0];
  loop.bound.outputs.clear();
  return computed_reduction_launch_plan(context, last.op, loop, output);
}

}  // namespace

bool is_element_loop(OpId op) {
  return op == OpId::copy || op == OpId::cast || makes_numbers(op) || core::is_listed_elementwise(op);
}

bool is_loop(OpId op) {
  switch (op) {
    case OpId::fused:
    case OpId::softmax:
    case OpId::log_softmax:
    case OpId::var:
    case OpId::logsumexp: return true;
    default: return is_element_loop(op);
  }
}

bool takes_complex(OpId op) {
  return op == OpId::fused || op == OpId::fill || (is_element_loop(op) && !makes_numbers(op));
}

NamedLoop named_loop(const Context& context, const core::Step& step) {
  const std::string name(core::definition(step.op).name);
  if (makes_numbers(step.op)) return {name, loop_making_numbers(step), step.attributes};
  const core::BoundLoop bound = *core::loop_of(step, context.has_f64);
  return {name, step.op == OpId::fused ? core::with_simple_reductions(bound, context.has_f64) : bound};
}

namespace {

/// A complex number everywhere: each of its parts in the places of such parts.
LaunchPlan complex_fill(const Context& context, const core::Step& step) {
  LaunchPlan plan;
  const auto& number = std::get<core::RangeAttributes>(*step.attributes);
  for (const std::int64_t part : {0, 1}) {
    core::RangeAttributes attributes = number;
    attributes.dtype = real_type(number.dtype);
    attributes.start = part == 0 ? number.start.as_double() : number.start.imaginary();
    const core::Attributes held = attributes;
    const core::Operand output = part_of_pairs(step.outputs[0], part);
    LaunchPlan one = loop_launch_plan(context, {step.op, &held, {}, {&output, 1}});
    plan.name = one.name;
    std::ranges::move(one.launches, std::back_inserter(plan.launches));
  }
  return plan;
}

}  // namespace

LaunchPlan loop_launch_plan(const Context& context, const core::Step& step) {
  if (step.op == OpId::fill && is_complex(step.outputs[0].dtype)) return complex_fill(context, step);
  if (step.op == OpId::var) {
    if (std::optional<LaunchPlan> plan = variance_by_reductions(context, step)) return *std::move(plan);
  }
  const NamedLoop loop = named_loop(context, step);
  const bool reduces = std::ranges::any_of(loop.program().instructions,
                                           [](const core::LoopInstruction& each) { return core::may_fold(each.op); });
  if (!reduces) return element_launch_plan(context, loop);
  return core::ends_in_its_only_reduction(loop.program()) ? one_reduction(context, loop)
                                                          : row_launch_plan(context, loop);
}

}  // namespace tyto::opencl
