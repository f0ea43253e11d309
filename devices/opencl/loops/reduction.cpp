// SPDX-License-Identifier: MIT
// Plans a reduction: which axes are traversed together, in how many parts, and by kernels of one or two stages.
#include "devices/opencl/loops/reduction.hpp"

#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "core/loop/operator_loop.hpp"
#include "devices/opencl/loops/reduction_kernel.hpp"
#include "devices/opencl/runtime/families.hpp"
#include "devices/opencl/text/fold_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

// The parts that one result is cut into depend on shapes, not on the device's size, though on how many items a
// work-group may have, where that is less than 256.
constexpr std::int64_t smallest_part = 16384;
constexpr std::int64_t most_parts = 256;
constexpr std::int64_t enough_results = 64;     // results that keep every unit busy without cutting
constexpr std::int64_t enough_groups = 256;     // that compute results side by side keep every unit of large GPUs busy
constexpr std::int64_t least_lines = 16;        // elements of a part that an item of such a group takes
constexpr std::int64_t few_elements = 1 << 19;  // take less time in one kernel than in two

View axes_of(const View& view, const IntList& axes) {
  View out;
  out.offset = 0;
  for (const std::int64_t axis : axes) {
    out.shape.push_back(view.shape[static_cast<std::size_t>(axis)]);
    out.strides.push_back(view.strides[static_cast<std::size_t>(axis)]);
  }
  return out;
}

// The order in which reduced elements are met is free: outer axes first, so that the innermost traverses memory in
// order.
IntList by_stride(const View& view, IntList axes) {
  const auto size = [&](std::int64_t axis) { return std::abs(view.strides[static_cast<std::size_t>(axis)]); };
  std::stable_sort(axes.begin(), axes.end(), [&](std::int64_t a, std::int64_t b) { return size(a) > size(b); });
  return axes;
}

struct Axes {
  IntList reduced;
  bool keepdims;
};

Axes axes_of(const core::Attributes& attributes, const View& input) {
  if (const auto* one = std::get_if<core::ArgAttributes>(&attributes)) {
    const std::int64_t axis = one->axis < 0 ? one->axis + input.rank() : one->axis;
    return {{axis}, one->keepdims};
  }
  const auto& several = std::get<core::AxesAttributes>(attributes);
  return {several.axes, several.keepdims};
}

struct Sides {
  IntList reduced, kept;
  IntList kept_out;  // where the kept axes are in the output
};

Sides sides_of(const IntList& reduced, bool keepdims, std::int64_t rank) {
  Sides sides{reduced, {}, {}};
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (std::find(reduced.begin(), reduced.end(), axis) != reduced.end()) continue;
    sides.kept_out.push_back(keepdims ? axis : static_cast<std::int64_t>(sides.kept.size()));
    sides.kept.push_back(axis);
  }
  return sides;
}

/// Fills in the views: axes are merged where all views allow it. `whole` is how the elements lie in memory, or would.
void lay_out(Reduction& reduction, const View& whole, std::span<const View> sources, const View& output,
             const Sides& sides) {
  const IntList reduced = by_stride(whole, sides.reduced);
  std::vector<View> kept = {axes_of(output, sides.kept_out), axes_of(whole, sides.kept)};
  std::vector<View> folded = {axes_of(whole, reduced)};
  for (const View& source : sources) {
    kept.push_back(axes_of(source, sides.kept));
    folded.push_back(axes_of(source, reduced));
  }
  const bool is_empty = folded[0].count() == 0;
  core::collapse(kept);
  if (!is_empty) core::collapse(folded);
  for (View& view : folded) {
    if (is_empty) view = View{{0}, {1}, 0};
    give_axis(view);
  }
  for (View& view : kept) give_axis(view);
  reduction.written = kept[0];
  reduction.kept = kept[1];
  reduction.reduced = folded[0];
  for (std::size_t i = 0; i < sources.size(); ++i) {
    reduction.sources[i].kept = kept[i + 2];
    reduction.sources[i].reduced = folded[i + 1];
  }
}

std::int64_t parts_of(const Context& context, const Reduction& reduction) {
  const std::int64_t results = reduction.kept.count(), length = reduction.reduced.count();
  if (columns_lie_closer(reduction)) {
    if (results >= enough_items || results * length <= few_elements) return 1;
    const std::int64_t columns = reduction.kept.shape[reduction.kept.shape.size() - 1];
    const std::int64_t width = block_width(context, reduction);
    const std::int64_t groups = results / columns * ((columns + width - 1) / width);
    const std::int64_t items_a_column = static_cast<std::int64_t>(context.group) / width;
    return std::max<std::int64_t>(std::min(enough_groups / groups, length / (least_lines * items_a_column)), 1);
  }
  return results >= enough_results ? 1 : std::clamp<std::int64_t>(length / smallest_part, 1, most_parts);
}

/// One kernel, or two with partial results between them.
void append(LaunchPlan& plan, const Context& context, Reduction reduction) {
  const std::int64_t results = reduction.kept.count(), parts = parts_of(context, reduction);
  if (parts == 1) {
    plan.launches.push_back(reduction_kernel(context, reduction, 1));
    return;
  }
  // Partial results, a row of them for each result, lie in the workspace between the two.
  const std::size_t size = size_of(reduction.accumulator);
  const std::size_t at = plan.reserve(static_cast<std::size_t>(results * parts) * size);
  const MemoryOperand partial{MemoryArgument::Role::workspace, reduction.accumulator,
                              static_cast<std::int64_t>(at / size)};
  Reduction last = reduction;
  last.elements = nullptr;
  last.kept = View{reduction.kept.shape, core::row_major(reduction.kept.shape), 0};
  for (std::int64_t& stride : last.kept.strides) stride *= parts;
  last.reduced = View{{parts}, {1}, 0};
  last.sources = {{partial, last.kept, last.reduced}};
  reduction.target = partial;
  reduction.written = last.kept;
  reduction.finishes = false;
  plan.launches.push_back(reduction_kernel(context, reduction, parts));
  plan.launches.push_back(reduction_kernel(context, last, 1));
}

void append_step(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const core::Operand& input = step.inputs[0];
  const core::Operand& output = step.outputs[0];
  const auto [reduced, keepdims] = axes_of(*step.attributes, input.view);
  Reduction reduction;
  reduction.op = step.op;
  reduction.sources = {{{MemoryArgument::Role::input, input.dtype, input.view.offset}, {}, {}}};
  reduction.target = {MemoryArgument::Role::output, output.dtype, output.view.offset};
  reduction.accumulator = FoldText::accumulator_of(step.op, input.dtype);
  lay_out(reduction, input.view, {&input.view, 1}, output.view, sides_of(reduced, keepdims, input.view.rank()));
  reduction.count = static_cast<double>(reduction.reduced.count());
  if (step.op == OpId::argmin || step.op == OpId::argmax) {
    plan.launches.push_back(arg_reduction_kernel(context, reduction));
  } else {
    append(plan, context, std::move(reduction));
  }
}

}  // namespace

std::span<const OperatorPlan> reduction_plans() {
  static constexpr OperatorPlan plans[] = {
      {OpId::sum, append_step}, {OpId::prod, append_step},   {OpId::mean, append_step},
      {OpId::min, append_step}, {OpId::max, append_step},    {OpId::any, append_step},
      {OpId::all, append_step}, {OpId::argmin, append_step}, {OpId::argmax, append_step}};
  return plans;
}

LaunchPlan computed_reduction_launch_plan(const Context& context, OpId op, const NamedLoop& elements,
                                          const core::Operand& output) {
  const core::BoundLoop& bound = elements.bound;
  Reduction reduction;
  reduction.op = op;
  reduction.elements = &elements;
  std::vector<View> views;
  for (const core::Operand& input : bound.inputs) {
    reduction.sources.push_back({{MemoryArgument::Role::input, input.dtype, input.view.offset}, {}, {}});
    views.push_back(input.view);
  }
  reduction.target = {MemoryArgument::Role::output, output.dtype, output.view.offset};
  const DType computed = core::value_types(bound.loop.program, bound.input_types())[bound.loop.program.outputs[0]];
  reduction.accumulator = FoldText::accumulator_of(op, computed);
  const View whole = View::dense(bound.loop.shape);
  lay_out(reduction, whole, views, output.view, sides_of(bound.loop.axes, true, whole.rank()));
  reduction.count = static_cast<double>(reduction.reduced.count());
  LaunchPlan plan;
  plan.name = elements.name;
  if (output.view.count() != 0) append(plan, context, std::move(reduction));
  return plan;
}

// The means go to the workspace; the squares are computed where the second reduction reads them.
std::optional<LaunchPlan> variance_by_reductions(const Context& context, const core::Step& step) {
  const auto& variance = std::get<core::VarianceAttributes>(*step.attributes);
  const core::Operand& input = step.inputs[0];
  const core::Operand& output = step.outputs[0];
  const Sides sides = sides_of(variance.axes, variance.keepdims, input.view.rank());
  const DType wide = core::wide_enough(input.dtype, context.has_f64);

  LaunchPlan plan;
  plan.name = core::definition(step.op).name;
  const MemoryOperand source{MemoryArgument::Role::input, input.dtype, input.view.offset};
  const std::size_t at = plan.reserve(static_cast<std::size_t>(output.view.count()) * size_of(wide));
  const MemoryOperand means{MemoryArgument::Role::workspace, wide, static_cast<std::int64_t>(at / size_of(wide))};
  const View means_in_order = View::dense(core::reduced_shape(input.view.shape, variance.axes, false));
  Sides of_means = sides;
  for (std::size_t i = 0; i < of_means.kept_out.size(); ++i) of_means.kept_out[i] = static_cast<std::int64_t>(i);

  Reduction mean;
  mean.op = OpId::mean;
  mean.sources = {{source, {}, {}}};
  mean.target = means;
  mean.accumulator = wide;
  lay_out(mean, input.view, {&input.view, 1}, means_in_order, of_means);
  mean.count = static_cast<double>(mean.reduced.count());
  const bool few_and_long = mean.kept.count() < enough_results && mean.reduced.count() >= 2 * smallest_part;
  if (output.view.count() == 0 || !(few_and_long || columns_lie_closer(mean))) return std::nullopt;
  append(plan, context, mean);

  View means_stretched{input.view.shape, Strides(input.view.shape.size(), 0), 0};
  for (std::size_t i = 0; i < sides.kept.size(); ++i) {
    means_stretched.strides[static_cast<std::size_t>(sides.kept[i])] = means_in_order.strides[i];
  }
  NamedLoop squares;
  squares.bound.inputs = {input, {wide, means_stretched}};
  squares.bound.loop.program = {
      2, {}, {{OpId::cast, wide, {0}}, {OpId::subtract, wide, {2, 1}}, {OpId::square, wide, {3}}}, {4}};
  Reduction spread = mean;
  spread.sources = {{source, {}, {}}, {means, {}, {}}};
  spread.elements = &squares;
  spread.target = {MemoryArgument::Role::output, output.dtype, output.view.offset};
  const View views[] = {input.view, means_stretched};
  lay_out(spread, input.view, views, output.view, sides);
  spread.count = std::max(mean.count - static_cast<double>(variance.ddof), 0.0);
  append(plan, context, spread);
  return plan;
}

}  // namespace tyto::opencl
