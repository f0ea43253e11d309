// SPDX-License-Identifier: MIT
// An item scans a line from its beginning to its end: the order of additions is that of the elements, on every device.
#include "devices/opencl/runtime/families.hpp"

#include <array>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/text/fold_text.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

/// Running values are kept wider than the elements, so that a long sum loses no more than its last rounding.
DType running_type(const Context& context, OpId fold, DType type) {
  const DType accumulator = FoldText::accumulator_of(fold, type);
  const bool adds = fold == OpId::sum || fold == OpId::prod;
  return adds && accumulator == DType::f32 && context.has_f64 ? DType::f64 : accumulator;
}

std::int64_t take_axis(View& view, std::size_t axis) {
  const std::int64_t stride = view.strides[axis];
  view.shape.erase(axis);
  view.strides.erase(axis);
  return stride;
}

template <OpId fold>
void append_scan(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const auto& attributes = std::get<core::ScanAttributes>(*step.attributes);
  core::Operand in = step.inputs[0], out = step.outputs[0];
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const std::int64_t length = in.view.shape[axis];
  std::array<std::int64_t, 2> steps{};
  std::array<View, 2> lines;
  for (std::size_t i = 0; i < 2; ++i) {
    core::Operand& operand = i == 0 ? in : out;
    lines[i] = operand.view;
    steps[i] = take_axis(lines[i], axis);
    if (!attributes.reverse) continue;
    operand.view.offset += (length - 1) * steps[i];
    steps[i] = -steps[i];
  }
  core::collapse(lines);
  for (View& view : lines) give_axis(view);
  const LoopAxes from("x", lines[0]), to("y", lines[1]);

  const DType running = running_type(context, fold, in.dtype);
  const FoldText rule(fold, running);
  KernelText kernel(false);
  kernel.memory(KernelText::Role::input, 0, in, "in");
  kernel.memory(KernelText::Role::output, 0, out, "out");
  from.declare_lengths(kernel);
  from.declare_strides(kernel);
  to.declare_strides(kernel);
  kernel.number("length", length);
  kernel.number("in_step", steps[0]);
  kernel.number("out_step", steps[1]);
  kernel.item_a_task(lines[0].count());
  kernel.line(text("    ", from.split("l", "task", "long")));
  kernel.line(text("    long from = ", from.place("l"), ", to = ", to.place("l"), ";"));
  kernel.line(text("    ", rule.type(), " running = ", rule.start(), ";"));
  kernel.line("    for (long i = 0; i < length; ++i, from += in_step, to += out_step) {");
  const std::string element = rule.element(in.dtype, load(in.dtype, "in", "from"));
  kernel.line(text("      const ", rule.type(), " before = running, value = ", element, ";"));
  kernel.line(text("      running = ", rule.two("before", "value"), ";"));
  const std::string result = rule.finished(out.dtype, attributes.exclusive ? "before" : "running", "");
  kernel.line(text("      ", store(out.dtype, "out", "to", result)));
  kernel.line("    }");
  plan.launches.push_back(kernel.finish());
}

}  // namespace

std::span<const OperatorPlan> scan_plans() {
  static constexpr OperatorPlan plans[] = {{OpId::cumsum, append_scan<OpId::sum>},
                                           {OpId::cumprod, append_scan<OpId::prod>},
                                           {OpId::cummin, append_scan<OpId::min>},
                                           {OpId::cummax, append_scan<OpId::max>}};
  return plans;
}

}  // namespace tyto::opencl
