// SPDX-License-Identifier: MIT
// Positions are put in order by where they write, and whoever meets the first of several that write to one place does
// them all, one after the other: the last one wins, sums and products have one order, without an atomic operation.
#include "devices/opencl/runtime/families.hpp"

#include <iterator>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/moves/moves.hpp"
#include "devices/opencl/moves/ordering.hpp"
#include "devices/opencl/runtime/faults.hpp"
#include "devices/opencl/text/complex_pairs.hpp"
#include "devices/opencl/text/coordinate_loop.hpp"
#include "devices/opencl/text/expressions.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

constexpr std::size_t first_index = 2;  // inputs: what is written to, what is written, and the index tensors

/// Keys are the places in the dense result where what a position writes begins.
Keys places(const core::Step& step, const std::vector<StridedMemory>& indices) {
  Keys keys;
  const Shape& chosen = step.inputs[first_index].view.shape;
  keys.lines = 1;
  keys.length = element_count(chosen);
  keys.wide = true;
  keys.declare = [&step, &indices, &chosen](KernelText& kernel) {
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      kernel.memory(Role::input, first_index + axis, step.inputs[first_index + axis], text("index", axis));
      indices[axis].declare(kernel);
      kernel.number(text("extent", axis), step.outputs[0].view.shape[axis]);
      kernel.number(text("step", axis), step.outputs[0].view.strides[axis]);
    }
    for (std::size_t axis = 1; axis < chosen.size(); ++axis) kernel.number(text("n", axis), chosen[axis]);
    kernel.faults();
  };
  keys.key = [&step, &indices, &chosen](KernelText& kernel) {
    std::vector<std::string> at;
    kernel.line("      long rest = i;");
    for (std::size_t axis = chosen.size(); axis-- > 1;) {
      kernel.line(text("      const long c", axis, " = rest % n", axis, "; rest /= n", axis, ";"));
    }
    for (std::size_t axis = 0; axis < chosen.size(); ++axis) at.push_back(axis == 0 ? "rest" : text("c", axis));
    std::string place;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      place += text(axis == 0 ? "" : " + ", "position_in((long)index", axis, "[", indices[axis].place(at), "], extent",
                    axis, ", faults, ", Faults::code_of(step.op), ") * step", axis);
    }
    return text("(ulong)(", place, ")");
  };
  return keys;
}

/// For each position that is the first of its place, and each element of what it writes.
KernelLaunch write_kernel(const Context& context, const core::Step& step, const Ordered& ordered, std::int64_t count,
                          OpId combination) {
  const core::Operand &values = step.inputs[1], &out = step.outputs[0];
  const std::size_t chosen = step.inputs[first_index].view.shape.size(), axes = step.inputs.size() - first_index;
  const View outer = axes_between(values.view, 0, chosen);
  const View inner = axes_between(values.view, chosen, values.view.shape.size());
  const View target = axes_between(out.view, axes, out.view.shape.size());
  Shape shape = inner.shape;
  shape.insert(std::size_t{0}, count);
  KernelText kernel(false);
  const CoordinateLoop loop(context, shape);
  const StridedMemory from("from", inner), line("line", outer), to("to", target);
  kernel.memory(Role::input, 1, values, "values");
  kernel.memory(Role::output, 0, out, "out");
  ordered.declare(kernel);
  from.declare(kernel);
  line.declare(kernel);
  to.declare(kernel);
  kernel.number("positions_in_all", count);
  for (std::size_t axis = 1; axis < chosen; ++axis) kernel.number(text("m", axis), outer.shape[axis]);
  loop.open(kernel);
  std::vector<std::string> within, at;
  for (std::size_t axis = 0; axis < inner.shape.size(); ++axis) {
    within.push_back(loop.coordinate(static_cast<std::int64_t>(axis) + 1));
  }
  for (std::size_t axis = 0; axis < chosen; ++axis) at.push_back(axis == 0 ? "rest" : text("q", axis));
  const char* type = type_name(compute_of(out.dtype));
  kernel.line("    const ulong key = keys[c0];");
  kernel.line(text("    if (c0 > 0 && keys[c0 - 1] == key) return;"));
  kernel.line(text("    const long place = (long)key + ", to.place(within), ";"));
  kernel.line(text("    ", type, " value = ", load(out.dtype, "out", "place"), ";"));
  kernel.line("    for (long p = c0; p < positions_in_all && keys[p] == key; ++p) {");
  kernel.line("      long rest = positions[p];");
  for (std::size_t axis = chosen; axis-- > 1;) {
    kernel.line(text("      const long q", axis, " = rest % m", axis, "; rest /= m", axis, ";"));
  }
  kernel.line(text("      const ", type,
                   " next = ", load(values.dtype, "values", text(line.place(at), " + ", from.place(within))), ";"));
  // Elements that go to one place are combined in f32 where they are of half precision, and rounded once.
  const bool is_half = out.dtype == DType::f16 || out.dtype == DType::bf16;
  const DType combined_in = is_half ? DType::f32 : out.dtype;
  const std::string combined =
      combination == OpId::copy ? "next"
                                : apply(combination, combined_in, {combined_in, combined_in}, {"value", "next"}, true);
  kernel.line(text("      value = ", combined, ";"));
  kernel.line("    }");
  kernel.line(text("    ", store(out.dtype, "out", "place", "value")));
  return loop.close(kernel);
}

/// `combination`: of what is there with what is written; `copy` stands for the latter alone. Complex elements are
/// written as their parts, which is all that happens to them.
template <OpId combination>
void append_scatter(LaunchPlan& plan, const Context& context, const core::Step& given) {
  std::vector<core::Operand> inputs(given.inputs.begin(), given.inputs.end());
  for (std::size_t i = 0; i < first_index; ++i) inputs[i] = as_pairs(inputs[i]);
  const core::Operand output = as_pairs(given.outputs[0]);
  const core::Step step{given.op, given.attributes, inputs, {&output, 1}};
  append_copy(plan, context, 0, step.inputs[0].view, step.outputs[0]);
  const std::int64_t count = step.inputs[first_index].view.count();
  if (count == 0 || step.inputs[1].view.count() == 0) return;
  std::vector<StridedMemory> indices;
  for (std::size_t i = first_index; i < step.inputs.size(); ++i) {
    indices.emplace_back(text("index", i - first_index), step.inputs[i].view);
  }
  const Ordered ordered = append_ordering(plan, context, places(step, indices));
  plan.launches.push_back(write_kernel(context, step, ordered, count, combination));
}

}  // namespace

std::span<const OperatorPlan> scatter_plans() {
  static constexpr OperatorPlan plans[] = {{OpId::scatter, append_scatter<OpId::copy>},
                                           {OpId::scatter_add, append_scatter<OpId::add>},
                                           {OpId::scatter_multiply, append_scatter<OpId::multiply>},
                                           {OpId::scatter_min, append_scatter<OpId::minimum>},
                                           {OpId::scatter_max, append_scatter<OpId::maximum>}};
  return plans;
}

}  // namespace tyto::opencl
