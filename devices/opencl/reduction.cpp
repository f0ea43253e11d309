// Plans a reduction: which axes are walked together, in how many parts, and the kernels of one or two stages.
#include "devices/opencl/reduction.hpp"

#include <algorithm>

#include "devices/opencl/operator_names.hpp"
#include "devices/opencl/reduction_kernel.hpp"
#include "engine/core/text.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;
using core::View;

// The parts that one result is cut into depend on shapes alone, so that results do not depend on the device's size.
constexpr std::int64_t smallest_part = 16384;
constexpr std::int64_t most_parts = 256;
constexpr std::int64_t enough_results = 64;  // results that keep every unit busy without cutting

View axes_of(const View& view, const IntList& axes) {
  View out;
  out.offset = 0;
  for (const std::int64_t axis : axes) {
    out.shape.push_back(view.shape[static_cast<std::size_t>(axis)]);
    out.strides.push_back(view.strides[static_cast<std::size_t>(axis)]);
  }
  return out;
}

// The order in which reduced elements are met is free: outer axes first, so that the innermost walks memory in order.
IntList by_stride(const View& view, IntList axes) {
  const auto size = [&](std::int64_t axis) { return std::abs(view.strides[static_cast<std::size_t>(axis)]); };
  std::stable_sort(axes.begin(), axes.end(), [&](std::int64_t a, std::int64_t b) { return size(a) > size(b); });
  return axes;
}

// At least one axis, so that the kernels have a loop.
void give_axis(View& view) {
  if (view.rank() == 0) view = View{{1}, {1}, view.offset};
}

struct Axes {
  IntList reduced;
  bool keepdims;
};

Axes axes_of(const core::Attributes& attributes, const View& input) {
  if (const auto* one = std::get_if<core::AxisAttributes>(&attributes)) {
    const std::int64_t axis = one->axis < 0 ? one->axis + input.rank() : one->axis;
    return {{axis}, one->flag};
  }
  const auto& several = std::get<core::AxesAttributes>(attributes);
  return {several.axes, several.keepdims};
}

DType accumulator_of(OpId op, DType type) {
  switch (op) {
    case OpId::sum:
    case OpId::prod:
    case OpId::mean: return type == DType::f64 ? DType::f64 : is_floating(type) ? DType::f32 : DType::i64;
    default: return type == DType::f64 || type == DType::i64 ? type : is_floating(type) ? DType::f32 : DType::i32;
  }
}

}  // namespace

bool is_reduction(OpId op) {
  switch (op) {
    case OpId::sum:
    case OpId::prod:
    case OpId::mean:
    case OpId::min:
    case OpId::max:
    case OpId::any:
    case OpId::all:
    case OpId::argmin:
    case OpId::argmax: return true;
    default: return false;
  }
}

Recipe reduction_recipe(const Context& context, const core::Step& step) {
  const core::Operand& input = step.inputs[0];
  const core::Operand& output = step.outputs[0];
  const auto [reduced, keepdims] = axes_of(*step.attributes, input.view);

  IntList kept;
  IntList kept_out;  // where the kept axes are in the output
  for (std::int64_t axis = 0; axis < input.view.rank(); ++axis) {
    if (std::find(reduced.begin(), reduced.end(), axis) != reduced.end()) continue;
    kept_out.push_back(keepdims ? axis : static_cast<std::int64_t>(kept.size()));
    kept.push_back(axis);
  }

  Reduction reduction;
  reduction.op = step.op;
  reduction.source = {MemoryArgument::Role::input, input.dtype, input.view.offset};
  reduction.target = {MemoryArgument::Role::output, output.dtype, output.view.offset};
  reduction.accumulator = accumulator_of(step.op, input.dtype);
  View views[2] = {axes_of(input.view, kept), axes_of(output.view, kept_out)};
  core::collapse(views);
  reduction.kept = views[0];
  reduction.written = views[1];
  reduction.reduced = axes_of(input.view, by_stride(input.view, reduced));
  const std::int64_t length = reduction.reduced.count();
  const std::int64_t results = output.view.count();
  reduction.count = static_cast<double>(length);
  if (length > 0) core::collapse({&reduction.reduced, 1});
  if (length == 0) reduction.reduced = View{{0}, {1}, 0};
  give_axis(reduction.kept);
  give_axis(reduction.written);
  give_axis(reduction.reduced);

  Recipe recipe;
  recipe.name = name_of(step.op);
  if (results == 0) return recipe;
  const bool of_places = step.op == OpId::argmin || step.op == OpId::argmax;
  const std::int64_t parts =
      of_places || results >= enough_results ? 1 : std::clamp<std::int64_t>(length / smallest_part, 1, most_parts);
  if (of_places) {
    recipe.launches.push_back(place_kernel(context, reduction));
    return recipe;
  }
  if (parts == 1) {
    recipe.launches.push_back(reduction_kernel(context, reduction, 1));
    return recipe;
  }
  // Two stages: partial results, a row of them for each result, lie in the workspace between the two.
  const MemoryOperand partial{MemoryArgument::Role::workspace, reduction.accumulator, 0};
  recipe.workspace = static_cast<std::size_t>(results * parts) * size_of(reduction.accumulator);
  Reduction last = reduction;
  last.source = partial;
  last.kept = View{reduction.kept.shape, core::row_major(reduction.kept.shape), 0};
  for (std::int64_t& stride : last.kept.strides) stride *= parts;
  last.reduced = View{{parts}, {1}, 0};
  reduction.target = partial;
  reduction.written = last.kept;
  reduction.finishes = false;
  recipe.launches.push_back(reduction_kernel(context, reduction, parts));
  recipe.launches.push_back(reduction_kernel(context, last, 1));
  return recipe;
}

}  // namespace tyto::opencl
