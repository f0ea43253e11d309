// SPDX-License-Identifier: MIT
// Writes the kernel of argmin and argmax.
#include "core/graph/op_ids.hpp"
#include "devices/opencl/loops/reduction_kernel.hpp"
#include "devices/opencl/text/fold_text.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

KernelLaunch arg_reduction_kernel(const Context& context, const Reduction& reduction) {
  const char* type = type_name(compute_of(reduction.accumulator));
  const bool real = is_floating(compute_of(reduction.accumulator));
  KernelText kernel(false);
  const MemoryOperand& source = reduction.sources[0].memory;
  for (const auto& [operand, name] : {std::pair(source, "in"), std::pair(reduction.target, "out")}) {
    kernel.memory(operand.role, 0, storage_name(operand.dtype), size_of(operand.dtype), operand.offset, name);
  }
  const LoopAxes kept("k", reduction.kept);
  const LoopAxes written("w", reduction.written);
  const LoopAxes reduced("r", reduction.reduced);
  kept.declare_lengths(kernel);
  kept.declare_strides(kernel);
  written.declare_strides(kernel);
  reduced.declare_lengths(kernel);
  reduced.declare_strides(kernel);
  // The first extreme; a NaN is more extreme than any number.
  const std::string beyond = reduction.op == OpId::argmin ? " < " : " > ";
  const auto better = [&](std::string_view a, std::string_view b) {
    return real ? text("((", a, beyond, b, ") | ((", a, " != ", a, ") & (", b, " == ", b, ")))")
                : text("(", a, beyond, b, ")");
  };
  const std::string element =
      FoldText(reduction.op, reduction.accumulator)
          .element(source.dtype, load(source.dtype, "in", text("origin + i * ", reduced.inner_step())));
  const std::int64_t results = reduction.kept.count();
  kernel.number("results", results);
  kernel.line(text("  const int me = get_local_id(0); const int width = ", context.group, ";"));
  kernel.line(text("  local ", type, " values[", context.group, "]; local long places[", context.group, "];"));
  kernel.line("  const long result = get_group_id(0);");
  kernel.line(text("  ", kept.split("k", "result", "long")));
  kernel.line(text("  const long origin = ", kept.place("k"), ";"));
  kernel.line("  long place = min((long)me, r_n0 - 1); long i = place;");
  kernel.line(text("  ", type, " best = ", element, ";"));
  kernel.line("  for (i = place + width; i < r_n0; i += width) {");
  kernel.line(text("    const ", type, " next = ", element, "; const int won = ", better("next", "best"), ";"));
  kernel.line("    best = won ? next : best; place = won ? i : place;");
  kernel.line("  }");
  kernel.line("  values[me] = best; places[me] = place;");
  kernel.line("  for (int half_width = width / 2; half_width > 0; half_width /= 2) {");
  kernel.line("    barrier(CLK_LOCAL_MEM_FENCE);");
  kernel.line("    if (me < half_width) {");
  kernel.line(text("      const ", type, " a = values[me]; const ", type, " b = values[me + half_width];"));
  kernel.line(text("      const int tie = !", better("a", "b"), " & (places[me + half_width] < places[me]);"));
  kernel.line(text("      const int won = ", better("b", "a"), " | tie;"));
  kernel.line("      values[me] = won ? b : a; places[me] = won ? places[me + half_width] : places[me];");
  kernel.line("    }");
  kernel.line("  }");
  kernel.line("  place = places[0];");
  kernel.line(text("  if (me == 0) out[", written.place("k"), "] = place;"));
  KernelLaunch launch = kernel.finish(text("__attribute__((reqd_work_group_size(", context.group, ", 1, 1))) "));
  launch.local[0] = context.group;
  launch.global[0] = static_cast<std::size_t>(results) * context.group;
  return launch;
}

}  // namespace tyto::opencl
