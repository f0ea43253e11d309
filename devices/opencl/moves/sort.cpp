// SPDX-License-Identifier: MIT
// Sorting along an axis: keys are put in order, and what is wanted of each line is read by their positions.
#include "devices/opencl/runtime/families.hpp"

#include <optional>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/moves/ordering.hpp"
#include "devices/opencl/text/coordinate_loop.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

/// The part of each line that is wanted: how many of its first elements, and the results for them and their positions.
struct Wanted {
  std::int64_t axis, count;
  bool descending;
  std::optional<std::size_t> values, positions;
};

Wanted wanted_of(const core::Step& step) {
  const View& in = step.inputs[0].view;
  if (const auto* topk = std::get_if<core::TopkAttributes>(step.attributes)) {
    const std::int64_t axis = topk->axis < 0 ? topk->axis + in.rank() : topk->axis;
    return {axis, topk->k, topk->largest, 0, 1};
  }
  const auto& attributes = std::get<core::SortAttributes>(*step.attributes);
  const std::int64_t count = in.rank() == 0 ? 1 : in.shape[static_cast<std::size_t>(attributes.axis)];
  if (step.op == OpId::sort) return {attributes.axis, count, attributes.descending, 0, {}};
  return {attributes.axis, count, attributes.descending, {}, 0};
}

/// A view as lines along an axis, and the step between a line's elements.
struct Lines {
  View view;
  std::int64_t step = 1;
};

Lines lines_along(View view, std::int64_t axis) {
  Lines lines{std::move(view), 1};
  if (lines.view.rank() > 0) {
    const auto at = static_cast<std::size_t>(axis);
    lines.step = lines.view.strides[at];
    lines.view.shape.erase(at);
    lines.view.strides.erase(at);
  }
  give_axis(lines.view);
  return lines;
}

/// Statements that set NAME to where line `line` begins.
std::string start_of(const LoopAxes& axes, std::string_view name) {
  return text(axes.split(text(name, "_line"), "line", "long"), " const long ", name, " = ",
              axes.place(text(name, "_line")), ";");
}

void declare_lines(KernelText& kernel, const LoopAxes& axes, std::string_view step, std::int64_t by) {
  axes.declare_lengths(kernel);
  axes.declare_strides(kernel);
  kernel.number(step, by);
}

void append_sort(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const Wanted wanted = wanted_of(step);
  const core::Operand& in = step.inputs[0];
  const Lines from = lines_along(in.view, wanted.axis);
  const LoopAxes from_axes("x", from.view);
  Keys keys;
  keys.lines = from.view.count();
  keys.length = in.view.rank() == 0 ? 1 : in.view.shape[static_cast<std::size_t>(wanted.axis)];
  keys.wide = has_wide_keys(in.dtype);
  if (keys.lines * keys.length == 0 || wanted.count == 0) return;
  keys.declare = [&](KernelText& kernel) {
    kernel.memory(Role::input, 0, in, "in");
    declare_lines(kernel, from_axes, "in_step", from.step);
  };
  keys.key = [&](KernelText& kernel) {
    kernel.line(text("      ", start_of(from_axes, "begin_in")));
    return order_key(in.dtype, load(in.dtype, "in", "begin_in + i * in_step"), wanted.descending);
  };
  const Ordered ordered = append_ordering(plan, context, keys);
  for (const auto& [result, holds_values] : {std::pair(wanted.values, true), std::pair(wanted.positions, false)}) {
    if (!result) continue;
    const core::Operand& out = step.outputs[*result];
    const Lines to = lines_along(out.view, wanted.axis);
    const LoopAxes to_axes("y", to.view);
    KernelText kernel(false);
    const CoordinateLoop loop(context, {keys.lines, wanted.count});
    if (holds_values) keys.declare(kernel);
    kernel.memory(Role::output, 0, out, "out");
    ordered.declare(kernel);
    declare_lines(kernel, to_axes, "out_step", to.step);
    kernel.number("length", keys.length);
    loop.open(kernel);
    kernel.line("    const long line = c0, position = positions[c0 * length + c1];");
    kernel.line(text("    ", start_of(to_axes, "begin_out")));
    if (holds_values) kernel.line(text("    ", start_of(from_axes, "begin_in")));
    const std::string value = holds_values ? load(in.dtype, "in", "begin_in + position * in_step") : "position";
    kernel.line(text("    ", store(out.dtype, "out", "begin_out + c1 * out_step", value)));
    KernelLaunch launch = loop.close(kernel);
    for (Argument& argument : launch.arguments) {
      auto* const memory = std::get_if<MemoryArgument>(&argument);
      if (memory != nullptr && memory->role == Role::output) memory->index = *result;
    }
    plan.launches.push_back(std::move(launch));
  }
}

// The order that sorts a 64-bit word for each element.
void append_permutation(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const core::Operand &key = step.inputs[0], &out = step.outputs[0];
  const std::int64_t count = out.view.count();
  Keys keys;
  keys.lines = 1;
  keys.length = count;
  keys.wide = true;
  keys.declare = [&](KernelText& kernel) {
    kernel.memory(Role::input, 0, key, "in0");
    kernel.constant("long", "draw", Argument(std::get<core::RandomAttributes>(*step.attributes).draw));
  };
  keys.key = [](KernelText& kernel) {
    kernel.line("      const uint4 words = philox((ulong)i, (ulong)(in0[1] + draw), (ulong)in0[0]);");
    return std::string("((ulong)words.x << 32) | words.y");
  };
  const Ordered ordered = append_ordering(plan, context, keys);
  KernelText kernel(false);
  const CoordinateLoop loop(context, {count});
  ordered.declare(kernel);
  kernel.memory(Role::output, 0, out, "out");
  loop.open(kernel);
  kernel.line("    out[i] = positions[i];");
  plan.launches.push_back(loop.close(kernel));
}

}  // namespace

std::span<const OperatorPlan> sort_plans() {
  static constexpr OperatorPlan plans[] = {{OpId::sort, append_sort},
                                           {OpId::argsort, append_sort},
                                           {OpId::topk, append_sort},
                                           {OpId::random_permutation, append_permutation}};
  return plans;
}

}  // namespace tyto::opencl
