// SPDX-License-Identifier: MIT
// Writes the reduction kernels: a work-item a result, or a work-group with a tree.
#include "devices/opencl/loops/reduction_kernel.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "devices/opencl/loops/element_body.hpp"
#include "devices/opencl/text/fold_text.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

class ReductionText {
 public:
  ReductionText(const Context& context, const Reduction& reduction, std::int64_t parts)
      : context_(context),
        reduction_(reduction),
        fold_(reduction.op, reduction.accumulator),
        parts_(parts),
        kernel_(false),
        kept_("k", reduction.kept),
        written_("w", reduction.written),
        reduced_("r", reduction.reduced),
        type_(fold_.type()) {
    if (reduction.elements != nullptr) body_.emplace(context, *reduction.elements);
    for (std::size_t i = 0; i < reduction.sources.size(); ++i) {
      const ReductionSource& source = reduction.sources[i];
      const std::size_t operand = reduction.elements != nullptr ? reduction.elements->bound.operand_of_input(i) : i;
      memory(source.memory, operand, text("in", i));
      source_kept_.emplace_back(text("k", i), source.kept);
      source_reduced_.emplace_back(text("r", i), source.reduced);
    }
    memory(reduction.target, 0, "out");
    results_ = reduction.kept.count();
    length_ = reduction.reduced.count();
    part_ = (length_ + parts - 1) / parts;
    kernel_.number("results", results_);
    kernel_.number("length", length_);
    if (parts > 1) kernel_.number("part", part_);
    kept_.declare_lengths(kernel_);
    reduced_.declare_lengths(kernel_);
    written_.declare_strides(kernel_);
    for (std::size_t i = 0; i < source_kept_.size(); ++i) {
      source_kept_[i].declare_strides(kernel_);
      source_reduced_[i].declare_strides(kernel_);
    }
    if (body_) body_->declare(kernel_);
    if (reduction.finishes) fold_.declare_divisor(kernel_, "divisor", reduction.count);
  }

  KernelLaunch generate() {
    const bool by_columns = columns_lie_closer(reduction_);
    if (by_columns && parts_ == 1 && results_ >= enough_items) return item_a_result();
    const bool fills_groups = parts_ == 1 && length_ >= static_cast<std::int64_t>(context_.group);
    return by_columns && !fills_groups ? group_a_block() : group_a_result();
  }

 private:
  void memory(const MemoryOperand& operand, std::size_t which, std::string_view name) {
    kernel_.memory(operand.role, which, storage_name(operand.dtype), size_of(operand.dtype), operand.offset, name);
  }

  // Where each source's elements for the result of the coordinates k begin.
  std::string origins() const {
    std::string out;
    for (std::size_t i = 0; i < source_kept_.size(); ++i) {
      out += text("const long origin", i, " = ", source_kept_[i].place("k"), "; ");
    }
    return out;
  }
  // Statements that make the element whose place in source i is at(i), as an accumulator called next.
  template <class At>
  std::string next(const At& at) const {
    std::string out;
    std::string value;
    if (body_) {
      for (std::size_t i = 0; i < source_kept_.size(); ++i) out += body_->load_input(i, at(i)) + " ";
      const core::LoopProgram& program = reduction_.elements->program();
      for (std::size_t v = program.first_instruction(); v < program.values(); ++v) out += body_->step(v, "0") + " ";
      const std::size_t stored = program.outputs[0];
      value = fold_.element(body_->type(stored), text("v", stored));
    } else {
      const DType from = reduction_.sources[0].memory.dtype;
      value = fold_.element(from, load(from, "in0", at(0)));
    }
    return text(out, "const ", type_, " next = ", value, ";");
  }
  std::string next_at_coordinates() const {
    return next([&](std::size_t i) { return text("origin", i, " + ", source_reduced_[i].place("r")); });
  }

  // The statement that stores a finished result.
  std::string finish(std::string_view at, const std::string& value) const {
    const DType target = reduction_.target.dtype;
    return store(target, "out", at,
                 reduction_.finishes ? fold_.finished(target, value, "divisor")
                                     : convert(reduction_.accumulator, target, text("(", value, ")")));
  }

  void bounds_of_part(std::string_view which) {
    if (parts_ == 1) {
      kernel_.line("    const long begin = 0; const long end = length;");
    } else {
      kernel_.line(text("    const long begin = ", which, " * part; const long end = min(begin + part, length);"));
    }
  }

  // Coordinates of the result are those of the kept axes.
  std::string written_place(std::string_view part) const {
    const std::string place = written_.place("k");
    return parts_ == 1 ? place : text(place, " + ", part);
  }

  // Opens a loop that folds into `subtotal`, which goes to `total` after every 256 rounds: an item adds up a whole
  // column, and the error of a sum grows with the additions that an element goes through.
  void open_rounds(std::string_view counter, std::string_view first, std::string_view past, std::int64_t step) {
    constexpr std::int64_t rounds = 256;
    kernel_.line(text("  for (long ", counter, " = ", first, "; ", counter, " < ", past, ";) {"));
    kernel_.line(text("  ", type_, " subtotal = ", fold_.start(), ";"));
    kernel_.line(text("  const long until = min(", counter, " + ", rounds * step, ", ", past, ");"));
    kernel_.line("  #pragma unroll 4");
    kernel_.line(text("  for (; ", counter, " < until; ", counter, " += ", step, ") {"));
  }
  void close_rounds() {
    kernel_.line("  }");
    kernel_.line(text("  total = ", fold_.two("total", "subtotal"), ";"));
    kernel_.line("  }");
  }

  // An item a result, neighbours reading neighbours.
  KernelLaunch item_a_result() {
    kernel_.line("  const long result = get_global_id(0);");
    kernel_.line("  if (result >= results) return;");
    kernel_.line(text("  ", kept_.split("k", "result", "long")));
    kernel_.line(text("  ", origins()));
    kernel_.line(text("  ", type_, " total = ", fold_.start(), ";"));
    kernel_.line(text("  ", reduced_.split("r", "0", "long")));
    open_rounds("done", "0", "length", 1);
    kernel_.line(text("    ", next_at_coordinates()));
    kernel_.line(text("    subtotal = ", fold_.two("subtotal", "next"), ";"));
    const int last = reduced_.rank() - 1;
    kernel_.line(text("    if (++r_c", last, " == r_n", last, ") { r_c", last, " = 0; ", reduced_.advance("r"), " }"));
    close_rounds();
    kernel_.line(text("  const long at = ", written_.place("k"), ";"));
    kernel_.line(text("  ", finish("at", "total")));
    return in_groups(static_cast<std::size_t>(results_), true);
  }

  // A work-group a result (or part of one), then a tree in local memory.
  KernelLaunch group_a_result() {
    kernel_.number("parts", parts_);
    kernel_.line(text("  local ", type_, " tree[", context_.group, "];"));
    kernel_.line("  const long task = get_group_id(0);");
    kernel_.line("  const long result = task / parts;");
    kernel_.line("  const int me = get_local_id(0);");
    bounds_of_part("(task % parts)");
    kernel_.line(text("  ", kept_.split("k", "result", "long")));
    kernel_.line(text("  ", origins()));
    kernel_.line(text("  ", type_, " total = ", fold_.start(), ";"));
    kernel_.line(text("  for (long i = begin + me; i < end; i += ", context_.group, ") {"));
    kernel_.line(text("    ", reduced_.split("r", "i", "long")));
    kernel_.line(text("    ", next_at_coordinates()));
    kernel_.line(text("    total = ", fold_.two("total", "next"), ";"));
    kernel_.line("  }");
    kernel_.line("  tree[me] = total;");
    kernel_.line(text("  for (int width = ", context_.group / 2, "; width > 0; width /= 2) {"));
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line(text("    if (me < width) tree[me] = ", fold_.two("tree[me]", "tree[me + width]"), ";"));
    kernel_.line("  }");
    kernel_.line("  if (me == 0) {");
    kernel_.line(text("    const long at = ", written_place("task % parts"), ";"));
    kernel_.line(text("    ", finish("at", "tree[0]")));
    kernel_.line("  }");
    return in_groups(static_cast<std::size_t>(results_ * parts_), false);
  }

  // A work-group a block of neighbouring results (or part of it), in rows of items, which read neighbours; then a
  // tree in local memory.
  KernelLaunch group_a_block() {
    const int inner = kept_.rank() - 1;
    const std::int64_t width = block_width(context_, reduction_), height = context_.group / width;
    const std::int64_t blocks_a_row = (kept_.length(inner) + width - 1) / width;
    kernel_.number("parts", parts_);
    kernel_.number("blocks_a_row", blocks_a_row);
    kernel_.line(text("  local ", type_, " tree[", context_.group, "];"));
    kernel_.line("  const long task = get_group_id(0);");
    kernel_.line("  const long block = task / parts;");
    kernel_.line(text("  const int me = get_local_id(0); const int line = me / ", width, ";"));
    kernel_.line(text("  const long column = block % blocks_a_row * ", width, " + me % ", width, ";"));
    bounds_of_part("(task % parts)");
    const std::string columns = text("k_n", inner);
    kernel_.line(
        text("    ",
             kept_.split("k", text("block / blocks_a_row * ", columns, " + min(column, ", columns, " - 1)"), "long")));
    kernel_.line(text("  ", origins()));
    kernel_.line(text("  ", type_, " total = ", fold_.start(), ";"));
    kernel_.line(text("  ", reduced_.split("r", "begin + line", "long")));
    open_rounds("i", "begin + line", "end", height);
    kernel_.line(text("    ", next_at_coordinates()));
    kernel_.line(text("    subtotal = ", fold_.two("subtotal", "next"), ";"));
    kernel_.line(text("    ", reduced_.advance_inner("r", height)));
    close_rounds();
    kernel_.line("  tree[me] = total;");
    kernel_.line(text("  for (int lines = ", height / 2, "; lines > 0; lines /= 2) {"));
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line(
        text("    if (line < lines) tree[me] = ", fold_.two("tree[me]", text("tree[me + lines * ", width, "]")), ";"));
    kernel_.line("  }");
    kernel_.line(text("  if (line == 0 && column < ", columns, ") {"));
    kernel_.line(text("    const long at = ", written_place("task % parts"), ";"));
    kernel_.line(text("    ", finish("at", "tree[me]")));
    kernel_.line("  }");
    return in_groups(static_cast<std::size_t>(results_ / kept_.length(inner) * blocks_a_row * parts_), false);
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
  FoldText fold_;
  std::optional<ElementBody> body_;
  std::int64_t parts_;
  KernelText kernel_;
  LoopAxes kept_;
  LoopAxes written_;
  LoopAxes reduced_;
  std::vector<LoopAxes> source_kept_, source_reduced_;
  std::string type_;
  std::int64_t results_ = 0;
  std::int64_t length_ = 0;
  std::int64_t part_ = 0;
};

}  // namespace

std::int64_t block_width(const Context& context, const Reduction& reduction) {
  constexpr std::size_t widest = 64;
  const auto columns = static_cast<std::size_t>(reduction.kept.shape[reduction.kept.rank() - 1]);
  return static_cast<std::int64_t>(std::min({std::bit_ceil(columns), widest, context.group}));
}

KernelLaunch reduction_kernel(const Context& context, const Reduction& reduction, std::int64_t parts) {
  return ReductionText(context, reduction, parts).generate();
}

}  // namespace tyto::opencl
