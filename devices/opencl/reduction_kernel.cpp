// Texts of the reduction kernels: long loops with many accumulators, or a work-group with a tree.
#include "devices/opencl/reduction_kernel.hpp"

#include <algorithm>

#include "devices/opencl/expressions.hpp"
#include "devices/opencl/kernel_text.hpp"
#include "devices/opencl/loop_axes.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;
using core::text;

constexpr std::int64_t strip = 64;           // columns that one item of the CPU style reduces side by side
constexpr std::int64_t enough_items = 4096;  // results from which a work-group each is not needed to fill a GPU

const char* identity(OpId op, Compute type) {
  switch (op) {
    case OpId::prod:
    case OpId::all: return "1";
    case OpId::min: return is_floating(type) ? "INFINITY" : type == Compute::i64 ? "LONG_MAX" : "INT_MAX";
    case OpId::max: return is_floating(type) ? "-INFINITY" : type == Compute::i64 ? "LONG_MIN" : "INT_MIN";
    default: return "0";
  }
}

std::string combine(const Reduction& reduction, const std::string& a, const std::string& b) {
  const DType type = reduction.accumulator;
  const auto by = [&](OpId op) { return apply(op, type, {type, type}, {a, b}, false); };
  switch (reduction.op) {
    case OpId::prod: return by(OpId::multiply);
    case OpId::min: return by(OpId::minimum);
    case OpId::max: return by(OpId::maximum);
    case OpId::any: return text(a, " | ", b);
    case OpId::all: return text(a, " & ", b);
    default: return by(OpId::add);
  }
}

class ReductionText {
 public:
  ReductionText(const Context& context, const Reduction& reduction, std::int64_t parts)
      : context_(context),
        reduction_(reduction),
        parts_(parts),
        kernel_(false),
        kept_("k", reduction.kept),
        written_("w", reduction.written),
        reduced_("r", reduction.reduced),
        type_(type_name(compute_of(reduction.accumulator))) {
    memory(reduction.source, "in");
    memory(reduction.target, "out");
    results_ = reduction.kept.count();
    length_ = reduction.reduced.count();
    part_ = (length_ + parts - 1) / parts;
    kernel_.number("results", results_);
    kernel_.number("length", length_);
    if (parts > 1) kernel_.number("part", part_);
    kept_.declare_lengths(kernel_);
    kept_.declare_strides(kernel_);
    written_.declare_strides(kernel_);
    reduced_.declare_lengths(kernel_);
    reduced_.declare_strides(kernel_);
    if (reduction.op == OpId::mean && reduction.finishes) {
      const bool wide = reduction.accumulator == DType::f64;
      kernel_.constant(wide ? "double" : "float", "divisor",
                       wide ? Argument(reduction.count) : Argument(static_cast<float>(reduction.count)));
    }
  }

  KernelLaunch generate() {
    if (context_.style == Style::cpu) return columns_lie_closer() ? strips() : rows();
    return columns_lie_closer() && parts_ == 1 && results_ >= enough_items ? item_a_result() : group_a_result();
  }

 private:
  void memory(const MemoryOperand& operand, std::string_view name) {
    kernel_.memory(operand.role, 0, storage_name(operand.dtype), size_of(operand.dtype), operand.offset, name);
  }

  // Results whose sources are neighbours are better computed side by side than one after the other.
  bool columns_lie_closer() const {
    return kept_.inner_stride() == 1 && reduced_.inner_stride() != 1 && kept_.length(kept_.rank() - 1) > 1;
  }

  std::string element(std::string_view at) const {
    return convert(reduction_.source.dtype == DType::boolean ? DType::i32 : reduction_.source.dtype,
                   reduction_.accumulator, load(reduction_.source.dtype, "in", at));
  }
  std::string start() const { return identity(reduction_.op, compute_of(reduction_.accumulator)); }

  // The statement that stores a finished result.
  std::string finish(std::string_view at, const std::string& value) const {
    const std::string divided = reduction_.op == OpId::mean && reduction_.finishes ? text(value, " / divisor") : value;
    return store(reduction_.target.dtype, "out", at,
                 convert(reduction_.accumulator, reduction_.target.dtype, text("(", divided, ")")));
  }

  void bounds_of_part(std::string_view which) {
    if (parts_ == 1) {
      kernel_.line("    const long begin = 0; const long end = length;");
    } else {
      kernel_.line(text("    const long begin = ", which, " * part; const long end = min(begin + part, length);"));
    }
  }

  // CPU: one result (or part of one) after the other, with as many accumulators as fill the vector registers. They are
  // emptied into totals every 256 rounds, which keeps the error of long sums small.
  KernelLaunch rows() {
    const std::int64_t tasks = results_ * parts_;
    const std::int64_t most = static_cast<std::int64_t>(context_.units) * 4;
    const std::int64_t items = std::clamp<std::int64_t>(std::min(tasks, results_ * length_ / 4096), 1, most);
    const std::int64_t share = (tasks + items - 1) / items;
    kernel_.number("share", share);
    kernel_.number("parts", parts_);
    kernel_.line("  const long first = (long)get_global_id(0) * share;");
    kernel_.line("  const long past = min(first + share, results * parts);");
    kernel_.line("  for (long task = first; task < past; ++task) {");
    kernel_.line("    const long result = task / parts;");
    bounds_of_part("(task % parts)");
    kernel_.line(text("    ", kept_.split("k", "result", "long")));
    kernel_.line(text("    const long origin = ", kept_.place("k"), ";"));
    kernel_.line(text("    ", type_, "16 total = ", start(), ";"));
    kernel_.line(text("    ", type_, " single = ", start(), ";"));
    kernel_.line(text("    ", reduced_.split("r", "begin", "long")));
    const std::string inner = text("r_c", reduced_.rank() - 1);
    kernel_.line("    for (long done = begin; done < end;) {");
    kernel_.line(text("      const long run = min(r_n", reduced_.rank() - 1, " - ", inner, ", end - done);"));
    kernel_.line(text("      const long row = origin + ", reduced_.place("r"), ";"));
    kernel_.line("      long j = 0;");
    kernel_.line("      while (j + 16 <= run) {");
    kernel_.line("        const long until = min(run - 15, j + 4096);");
    kernel_.line(text("        ", type_, "16 some = ", start(), ";"));
    kernel_.line("        for (; j < until; j += 16) {");
    kernel_.line(text("          const ", type_, "16 next = ", sixteen(), ";"));
    kernel_.line(text("          some = ", combine_sixteen("some", "next"), ";"));
    kernel_.line("        }");
    kernel_.line(text("        total = ", combine_sixteen("total", "some"), ";"));
    kernel_.line("      }");
    kernel_.line("      for (; j < run; ++j) {");
    kernel_.line(text("        const ", type_, " next = ", element(text("row + j * ", reduced_.inner_step())), ";"));
    kernel_.line(text("        single = ", combine(reduction_, "single", "next"), ";"));
    kernel_.line("      }");
    kernel_.line(text("      done += run; ", inner, " = 0; ", reduced_.advance("r")));
    kernel_.line("    }");
    fold_sixteen();
    kernel_.line(text("    const long at = ", written_place("task % parts"), ";"));
    kernel_.line(text("    ", finish("at", "single")));
    kernel_.line("  }");
    KernelLaunch launch = kernel_.finish();
    launch.global[0] = static_cast<std::size_t>((tasks + share - 1) / share);
    return launch;
  }

  // Coordinates of the result are those of the kept axes.
  std::string written_place(std::string_view part) const {
    const std::string place = written_.place("k");
    return parts_ == 1 ? place : text(place, " + ", part);
  }

  std::string sixteen() const {
    const DType from = reduction_.source.dtype;
    const std::string at = "row + j";
    if (reduced_.inner_stride() != 1) {
      std::string list;
      for (int lane = 0; lane < 16; ++lane) {
        list += text(lane == 0 ? "" : ", ", element(text("row + (j + ", lane, ") * ", reduced_.inner_step())));
      }
      return text("(", type_, "16)(", list, ")");
    }
    if (from == DType::f16) return text("vload_half16(0, (const global half*)in + ", at, ")");
    const std::string raw = text("vload16(0, in + ", at, ")");
    if (from == DType::bf16) return text("as_float16(convert_uint16(", raw, ") << 16)");
    if (std::string_view(storage_name(from)) == type_) return raw;
    return text("convert_", type_, "16(", raw, ")");
  }

  std::string combine_sixteen(std::string_view a, std::string_view b) const {
    const bool wide = size_of(reduction_.accumulator) == 8;
    const std::string natural = wide ? "ulong16" : "uint16";
    const bool real = is_floating(compute_of(reduction_.accumulator));
    const auto wrapping = [&](std::string_view sign) {
      if (real) return text(a, sign, b);
      return text("as_", type_, "16(as_", natural, "(", a, ")", sign, "as_", natural, "(", b, "))");
    };
    switch (reduction_.op) {
      case OpId::prod: return wrapping(" * ");
      case OpId::any: return text(a, " | ", b);
      case OpId::all: return text(a, " & ", b);
      case OpId::min:
        return text("select(", b, ", ", a, ", (", a, " <= ", b, ")", real ? text(" | (", a, " != ", a, ")") : "", ")");
      case OpId::max:
        return text("select(", b, ", ", a, ", (", a, " >= ", b, ")", real ? text(" | (", a, " != ", a, ")") : "", ")");
      default: return wrapping(" + ");
    }
  }

  // Pairwise, then the elements that filled no vector.
  void fold_sixteen() {
    kernel_.line(text("    ", type_, " lanes[16]; vstore16(total, 0, lanes);"));
    kernel_.line("    for (int half_width = 8; half_width > 0; half_width /= 2)");
    kernel_.line("      for (int l = 0; l < half_width; ++l)");
    kernel_.line(text("        lanes[l] = ", combine(reduction_, "lanes[l]", "lanes[l + half_width]"), ";"));
    kernel_.line(text("    single = ", combine(reduction_, "single", "lanes[0]"), ";"));
  }

  // CPU: neighbouring results side by side, a strip of them at a time.
  KernelLaunch strips() {
    const int inner = kept_.rank() - 1;
    const std::int64_t columns = kept_.length(inner);
    const std::int64_t strips_a_row = (columns + strip - 1) / strip;
    const std::int64_t tasks = results_ / columns * strips_a_row * parts_;
    const std::int64_t most = static_cast<std::int64_t>(context_.units) * 4;
    const std::int64_t items = std::clamp<std::int64_t>(std::min(tasks, results_ * length_ / 4096), 1, most);
    const std::int64_t share = (tasks + items - 1) / items;
    kernel_.number("share", share);
    kernel_.number("parts", parts_);
    kernel_.number("tasks", tasks);
    kernel_.number("strips_a_row", strips_a_row);
    kernel_.line("  const long first = (long)get_global_id(0) * share;");
    kernel_.line("  const long past = min(first + share, tasks);");
    kernel_.line("  for (long task = first; task < past; ++task) {");
    bounds_of_part("(task % parts)");
    kernel_.line("    const long row_strip = task / parts;");
    kernel_.line(text("    const long column = row_strip % strips_a_row * ", strip, ";"));
    kernel_.line(text("    const long width = min(k_n", inner, " - column, (long)", strip, ");"));
    kernel_.line(text("    ", kept_.split("k", text("row_strip / strips_a_row * k_n", inner, " + column"), "long")));
    kernel_.line(text("    const long origin = ", kept_.place("k"), ";"));
    kernel_.line(text("    ", type_, " some[", strip, "]; ", type_, " total[", strip, "];"));
    kernel_.line(text("    for (int l = 0; l < ", strip, "; ++l) total[l] = ", start(), ";"));
    kernel_.line(text("    ", reduced_.split("r", "begin", "long")));
    const int last = reduced_.rank() - 1;
    kernel_.line("    for (long done = begin; done < end;) {");
    kernel_.line("      const long until = min(done + 256, end);");
    kernel_.line(text("      for (int l = 0; l < ", strip, "; ++l) some[l] = ", start(), ";"));
    kernel_.line("      for (; done < until; ++done) {");
    kernel_.line(text("        const long row = origin + ", reduced_.place("r"), ";"));
    strip_loop(text("some[l] = ", combine(reduction_, "some[l]", text("(", element("row + l"), ")")), ";"));
    kernel_.line(
        text("        if (++r_c", last, " == r_n", last, ") { r_c", last, " = 0; ", reduced_.advance("r"), " }"));
    kernel_.line("      }");
    kernel_.line(text("      for (int l = 0; l < ", strip,
                      "; ++l) total[l] = ", combine(reduction_, "total[l]", "some[l]"), ";"));
    kernel_.line("    }");
    kernel_.line(text("    const long target = ", written_place("task % parts"), ";"));
    kernel_.line(text("    for (int l = 0; l < width; ++l) {"));
    kernel_.line(text("      const long at = target + l * ", written_.inner_step(), ";"));
    kernel_.line(text("      ", finish("at", "total[l]")));
    kernel_.line("    }");
    kernel_.line("  }");
    KernelLaunch launch = kernel_.finish();
    launch.global[0] = static_cast<std::size_t>((tasks + share - 1) / share);
    return launch;
  }

  // A full strip has a length the compiler knows, and stays in registers.
  void strip_loop(std::string_view statement) {
    kernel_.line(text("        if (width == ", strip, ") { for (int l = 0; l < ", strip, "; ++l) ", statement, " }"));
    kernel_.line(text("        else { for (int l = 0; l < width; ++l) ", statement, " }"));
  }

  // GPU: an item a result, neighbours reading neighbours.
  KernelLaunch item_a_result() {
    kernel_.line("  const long result = get_global_id(0);");
    kernel_.line("  if (result >= results) return;");
    kernel_.line(text("  ", kept_.split("k", "result", "long")));
    kernel_.line(text("  const long origin = ", kept_.place("k"), ";"));
    kernel_.line(text("  ", type_, " total = ", start(), ";"));
    kernel_.line(text("  ", reduced_.split("r", "0", "long")));
    kernel_.line("  for (long done = 0; done < length; ++done) {");
    kernel_.line(text("    const ", type_, " next = ", element(text("origin + ", reduced_.place("r"))), ";"));
    kernel_.line(text("    total = ", combine(reduction_, "total", "next"), ";"));
    const int last = reduced_.rank() - 1;
    kernel_.line(text("    if (++r_c", last, " == r_n", last, ") { r_c", last, " = 0; ", reduced_.advance("r"), " }"));
    kernel_.line("  }");
    kernel_.line(text("  const long at = ", written_.place("k"), ";"));
    kernel_.line(text("  ", finish("at", "total")));
    return in_groups(static_cast<std::size_t>(results_), true);
  }

  // GPU: a work-group a result (or part of one), then a tree in local memory.
  KernelLaunch group_a_result() {
    kernel_.number("parts", parts_);
    kernel_.line(text("  local ", type_, " tree[", context_.group, "];"));
    kernel_.line("  const long task = get_group_id(0);");
    kernel_.line("  const long result = task / parts;");
    kernel_.line("  const int me = get_local_id(0);");
    bounds_of_part("(task % parts)");
    kernel_.line(text("  ", kept_.split("k", "result", "long")));
    kernel_.line(text("  const long origin = ", kept_.place("k"), ";"));
    kernel_.line(text("  ", type_, " total = ", start(), ";"));
    kernel_.line(text("  for (long i = begin + me; i < end; i += ", context_.group, ") {"));
    kernel_.line(text("    ", reduced_.split("r", "i", "long")));
    kernel_.line(text("    const ", type_, " next = ", element(text("origin + ", reduced_.place("r"))), ";"));
    kernel_.line(text("    total = ", combine(reduction_, "total", "next"), ";"));
    kernel_.line("  }");
    kernel_.line("  tree[me] = total;");
    kernel_.line(text("  for (int width = ", context_.group / 2, "; width > 0; width /= 2) {"));
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line(text("    if (me < width) tree[me] = ", combine(reduction_, "tree[me]", "tree[me + width]"), ";"));
    kernel_.line("  }");
    kernel_.line("  if (me == 0) {");
    kernel_.line(text("    const long at = ", written_place("task % parts"), ";"));
    kernel_.line(text("    ", finish("at", "tree[0]")));
    kernel_.line("  }");
    return in_groups(static_cast<std::size_t>(results_ * parts_), false);
  }

  KernelLaunch in_groups(std::size_t tasks, bool item_a_task) {
    KernelLaunch launch = kernel_.finish(text("__attribute__((reqd_work_group_size(", context_.group, ", 1, 1))) "));
    const std::size_t groups = item_a_task ? (tasks + context_.group - 1) / context_.group : tasks;
    launch.local[0] = context_.group;
    launch.global[0] = groups * context_.group;
    return launch;
  }

  const Context& context_;
  const Reduction& reduction_;
  std::int64_t parts_;
  KernelText kernel_;
  LoopAxes kept_;
  LoopAxes written_;
  LoopAxes reduced_;
  std::string type_;
  std::int64_t results_ = 0;
  std::int64_t length_ = 0;
  std::int64_t part_ = 0;
};

}  // namespace

KernelLaunch reduction_kernel(const Context& context, const Reduction& reduction, std::int64_t parts) {
  return ReductionText(context, reduction, parts).generate();
}

KernelLaunch place_kernel(const Context& context, const Reduction& reduction) {
  const bool cpu = context.style == Style::cpu;
  const char* type = type_name(compute_of(reduction.accumulator));
  const bool real = is_floating(compute_of(reduction.accumulator));
  KernelText kernel(false);
  for (const auto& [operand, name] : {std::pair(reduction.source, "in"), std::pair(reduction.target, "out")}) {
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
      convert(reduction.source.dtype == DType::boolean ? DType::i32 : reduction.source.dtype, reduction.accumulator,
              load(reduction.source.dtype, "in", text("origin + i * ", reduced.inner_step())));
  const std::int64_t results = reduction.kept.count();
  const std::int64_t items =
      std::clamp<std::int64_t>(results * reduction.reduced.count() / 4096, 1,
                               std::min<std::int64_t>(results, static_cast<std::int64_t>(context.units) * 4));
  const std::int64_t share = cpu ? (results + items - 1) / items : 1;
  kernel.number("results", results);
  kernel.number("share", share);
  kernel.line(
      text("  const int me = ", cpu ? "0" : "get_local_id(0)", "; const int width = ", cpu ? 1 : context.group, ";"));
  if (!cpu)
    kernel.line(text("  local ", type, " values[", context.group, "]; local long places[", context.group, "];"));
  kernel.line("  const long first = (long)get_group_id(0) * share; const long past = min(first + share, results);");
  kernel.line("  for (long result = first; result < past; ++result) {");
  kernel.line(text("    ", kept.split("k", "result", "long")));
  kernel.line(text("    const long origin = ", kept.place("k"), ";"));
  kernel.line("    long place = min((long)me, r_n0 - 1); long i = place;");
  kernel.line(text("    ", type, " best = ", element, ";"));
  kernel.line("    for (i = place + width; i < r_n0; i += width) {");
  kernel.line(text("      const ", type, " next = ", element, "; const int won = ", better("next", "best"), ";"));
  kernel.line("      best = won ? next : best; place = won ? i : place;");
  kernel.line("    }");
  if (!cpu) {
    kernel.line("    values[me] = best; places[me] = place;");
    kernel.line("    for (int half_width = width / 2; half_width > 0; half_width /= 2) {");
    kernel.line("      barrier(CLK_LOCAL_MEM_FENCE);");
    kernel.line("      if (me < half_width) {");
    kernel.line(text("        const ", type, " a = values[me]; const ", type, " b = values[me + half_width];"));
    kernel.line(text("        const int tie = !", better("a", "b"), " & (places[me + half_width] < places[me]);"));
    kernel.line(text("        const int won = ", better("b", "a"), " | tie;"));
    kernel.line("        values[me] = won ? b : a; places[me] = won ? places[me + half_width] : places[me];");
    kernel.line("      }");
    kernel.line("    }");
    kernel.line("    place = places[0];");
  }
  kernel.line(text("    if (me == 0) out[", written.place("k"), "] = place;"));
  kernel.line("  }");
  if (cpu) {
    KernelLaunch launch = kernel.finish();
    launch.global[0] = static_cast<std::size_t>((results + share - 1) / share);
    return launch;
  }
  KernelLaunch launch = kernel.finish(text("__attribute__((reqd_work_group_size(", context.group, ", 1, 1))) "));
  launch.local[0] = context.group;
  launch.global[0] = static_cast<std::size_t>(results) * context.group;
  return launch;
}

}  // namespace tyto::opencl
