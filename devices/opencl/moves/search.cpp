// SPDX-License-Identifier: MIT
// searchsorted and histogram: a binary search in one sorted line for each value.
#include <algorithm>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/moves/ordering.hpp"
#include "devices/opencl/runtime/families.hpp"
#include "devices/opencl/runtime/faults.hpp"
#include "devices/opencl/text/coordinate_loop.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

const char* key_type(DType type) { return has_wide_keys(type) ? "ulong" : "uint"; }

/// Declares a sorted line: the first operand of searchsorted, the second of histogram.
void declare_line(KernelText& kernel, const core::Operand& line, std::size_t which) {
  kernel.memory(Role::input, which, line, "line");
  kernel.number("length", line.view.shape[0]);
  kernel.number("line_step", line.view.strides[0]);
}

std::string key_at(DType type, std::string_view index) {
  return order_key(type, load(type, "line", text("(", index, ") * line_step")), false);
}

/// Statements that set `low` to how many elements of the line come before `key`, or with `after` are equal to it.
std::string search(DType type, bool after) {
  return text(
      "long low = 0; for (long left = length; left > 0;) { const long half_left = left / 2; const int before = ",
      key_at(type, "low + half_left"), after ? " <= " : " < ",
      "key; low = before ? low + half_left + 1 : low; left = before ? left - half_left - 1 : half_left; }");
}

void append_searchsorted(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const core::Operand &line = step.inputs[0], &values = step.inputs[1], &out = step.outputs[0];
  KernelText kernel(false);
  const CoordinateLoop loop(context, out.view.shape);
  declare_line(kernel, line, 0);
  kernel.memory(Role::input, 1, values, "values");
  kernel.memory(Role::output, 0, out, "out");
  const StridedMemory from("values", values.view), to("out", out.view);
  from.declare(kernel);
  to.declare(kernel);
  loop.open(kernel);
  std::vector<std::string> at;
  for (std::int64_t axis = 0; axis < out.view.rank(); ++axis) at.push_back(loop.coordinate(axis));
  const DType type = values.dtype;
  kernel.line(
      text("    const ", key_type(type), " key = ", order_key(type, load(type, "values", from.place(at)), false), ";"));
  kernel.line(text("    ", search(type, std::get<core::SearchAttributes>(*step.attributes).right)));
  kernel.line(text("    out[", to.place(at), "] = low;"));
  plan.launches.push_back(loop.close(kernel));
}

KernelLaunch check_edges(const Context& context, const core::Operand& edges) {
  KernelText kernel(false);
  const CoordinateLoop loop(context, {edges.view.shape[0] - 1});
  declare_line(kernel, edges, 1);
  kernel.faults();
  loop.open(kernel);
  kernel.line(text("    if (", key_at(edges.dtype, "i + 1"), " < ", key_at(edges.dtype, "i"), ") note_fault(faults, ",
                   Faults::code_of(OpId::histogram), ", i + 1, length);"));
  return loop.close(kernel);
}

// Every item counts for itself; integers add up the same in any order.
void append_histogram(LaunchPlan& plan, const Context& context, const core::Step& step) {
  constexpr std::int64_t values_an_item = 1024, most_items = 4096, most_counts = 1 << 20;
  const core::Operand &values = step.inputs[0], &edges = step.inputs[1], &out = step.outputs[0];
  const std::int64_t bins = edges.view.shape[0] - 1, count = values.view.count();
  const std::int64_t most = std::max<std::int64_t>(std::min(most_items, most_counts / bins), 1);
  const std::int64_t items = std::clamp<std::int64_t>(count / values_an_item, 1, most);
  const std::size_t at = plan.reserve(static_cast<std::size_t>(items * bins) * 8);
  const auto counts = [&](KernelText& kernel) {
    kernel.memory(Role::workspace, 0, "long", 8, static_cast<std::int64_t>(at / 8), "counts");
    kernel.number("bins", bins);
    kernel.number("items", items);
  };
  plan.launches.push_back(check_edges(context, edges));

  const DType type = values.dtype;
  const core::View& view = values.view;
  KernelText kernel(false);
  kernel.memory(Role::input, 0, values, "values");
  declare_line(kernel, edges, 1);
  counts(kernel);
  kernel.number("count", count);
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    kernel.number(text("n", axis), view.shape[axis]);
    kernel.number(text("s", axis), view.strides[axis]);
  }
  kernel.item_a_task(items);
  kernel.line("    global long* mine = counts + task * bins;");
  kernel.line("    for (long bin = 0; bin < bins; ++bin) mine[bin] = 0;");
  kernel.line(text("    const ", key_type(type), " top = ", key_at(type, "length - 1"), ";"));
  kernel.line("    for (long i = task; i < count; i += items) {");
  kernel.line("      long rest = i, at = 0;");
  for (std::size_t axis = view.shape.size(); axis-- > 0;) {
    kernel.line(text("      at += rest % n", axis, " * s", axis, "; rest /= n", axis, ";"));
  }
  kernel.line(text("      const ", type_name(compute_of(type)), " value = ", load(type, "values", "at"), ";"));
  if (is_floating(type)) kernel.line("      if (isnan(value)) continue;");
  kernel.line(text("      const ", key_type(type), " key = ", order_key(type, "value", false), ";"));
  kernel.line(text("      ", search(type, true)));
  // The last bin holds its upper edge too.
  kernel.line("      const long bin = key == top ? bins - 1 : low - 1;");
  kernel.line("      if (bin >= 0 && bin < bins) ++mine[bin];");
  kernel.line("    }");
  plan.launches.push_back(kernel.finish());

  KernelText total(false);
  const CoordinateLoop loop(context, {bins});
  counts(total);
  total.memory(Role::output, 0, out, "out");
  loop.open(total);
  total.line("    long sum = 0;");
  total.line("    for (long item = 0; item < items; ++item) sum += counts[item * bins + i];");
  total.line("    out[i] = sum;");
  plan.launches.push_back(loop.close(total));
}

}  // namespace

std::span<const OperatorPlan> search_plans() {
  static constexpr OperatorPlan plans[] = {{OpId::searchsorted, append_searchsorted},
                                           {OpId::histogram, append_histogram}};
  return plans;
}

}  // namespace tyto::opencl
