// SPDX-License-Identifier: MIT
// Texts of the reduction kernels: long loops with many accumulators, or a work-group with a tree.
#include "devices/opencl/loops/reduction_kernel.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "devices/opencl/text/element_body.hpp"
#include "devices/opencl/text/fold_text.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

constexpr std::int64_t tile_length = 256;  // computed elements that wait to be reduced
constexpr int side_by_side = 4;            // rows of a strip that are combined before they are added to what there is

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
    if (context_.style == Style::cpu) return by_columns ? strips() : rows();
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
  // And where those of the reduced coordinates r lie.
  std::string starts_of_rows() const {
    std::string out;
    for (std::size_t i = 0; i < source_kept_.size(); ++i) {
      out += text("const long row", i, " = origin", i, " + ", source_reduced_[i].place("r"), "; ");
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
  std::string next_in_row(std::string_view counter) const {
    return next([&](std::size_t i) { return text("row", i, source_reduced_[i].inner_term(counter)); });
  }
  std::string next_in_strip(std::string_view row, std::string_view column) const {
    return next([&](std::size_t i) {
      return text("row", i, source_reduced_[i].inner_term(row), source_kept_[i].inner_term(column));
    });
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

  // A few items for each unit, and none for little work.
  void distribute(std::int64_t tasks) {
    const std::int64_t most = static_cast<std::int64_t>(context_.units) * 4;
    kernel_.distribute(tasks, std::clamp<std::int64_t>(results_ * length_ / 4096, 1, most));
  }

  // CPU: one result (or part of one) after the other, with as many accumulators as fill the vector registers. They are
  // emptied into totals every 256 rounds, which keeps the error of long sums small.
  KernelLaunch rows() {
    const std::int64_t tasks = results_ * parts_;
    kernel_.number("parts", parts_);
    distribute(tasks);
    kernel_.line("    const long result = task / parts;");
    bounds_of_part("(task % parts)");
    kernel_.line(text("    ", kept_.split("k", "result", "long")));
    kernel_.line(text("    ", origins()));
    kernel_.line(text("    ", type_, "16 total = ", fold_.start(), ";"));
    kernel_.line(text("    ", type_, " single = ", fold_.start(), ";"));
    kernel_.line(text("    ", reduced_.split("r", "begin", "long")));
    const std::string inner = text("r_c", reduced_.rank() - 1);
    kernel_.line("    for (long done = begin; done < end;) {");
    kernel_.line(text("      const long run = min(r_n", reduced_.rank() - 1, " - ", inner, ", end - done);"));
    kernel_.line(text("      ", starts_of_rows()));
    kernel_.line("      long j = 0;");
    kernel_.line("      while (j + 16 <= run) {");
    kernel_.line("        const long until = min(run - 15, j + 4096);");
    kernel_.line(text("        ", type_, "16 some = ", fold_.start(), ";"));
    body_ ? sixteen_by_tiles() : sixteen_by_loads();
    kernel_.line(text("        total = ", fold_.sixteen("total", "some"), ";"));
    kernel_.line("      }");
    kernel_.line("      for (; j < run; ++j) {");
    kernel_.line(text("        ", next_in_row("j")));
    kernel_.line(text("        single = ", fold_.two("single", "next"), ";"));
    kernel_.line("      }");
    kernel_.line(text("      done += run; ", inner, " = 0; ", reduced_.advance("r")));
    kernel_.line("    }");
    kernel_.line(text("    ", fold_.across("total", "single", "lanes")));
    kernel_.line(text("    const long at = ", written_place("task % parts"), ";"));
    kernel_.line(text("    ", finish("at", "single")));
    kernel_.line("  }");
    return kernel_.finish();
  }

  // Coordinates of the result are those of the kept axes.
  std::string written_place(std::string_view part) const {
    const std::string place = written_.place("k");
    return parts_ == 1 ? place : text(place, " + ", part);
  }

  void sixteen_by_loads() {
    kernel_.line("        for (; j < until; j += 16) {");
    kernel_.line(text("          const ", type_, "16 next = ", sixteen(), ";"));
    kernel_.line(text("          some = ", fold_.sixteen("some", "next"), ";"));
    kernel_.line("        }");
  }

  // Computed elements go through a tile, so that their loop vectorises whatever is reduced; they are added up in the
  // order in which they would be if they had been stored.
  void sixteen_by_tiles() {
    kernel_.line("        const long past = j + (until - j + 15) / 16 * 16;");
    kernel_.line("        while (j < past) {");
    kernel_.line(text("          ", type_, " tile[", tile_length, "];"));
    kernel_.line(text("          const int width = (int)min((long)", tile_length, ", past - j);"));
    kernel_.line(text("          for (int l = 0; l < width; ++l) { ", next_in_row("(j + l)"), " tile[l] = next; }"));
    kernel_.line("          for (int l = 0; l < width; l += 16) {");
    kernel_.line(text("            const ", type_, "16 next = vload16(0, tile + l);"));
    kernel_.line(text("            some = ", fold_.sixteen("some", "next"), ";"));
    kernel_.line("          }");
    kernel_.line("          j += width;");
    kernel_.line("        }");
  }

  std::string sixteen() const {
    const DType from = reduction_.sources[0].memory.dtype;
    const std::string at = "row0 + j";
    if (reduced_.inner_stride() != 1) {
      std::string list;
      for (int lane = 0; lane < 16; ++lane) {
        const std::string place = text("row0", source_reduced_[0].inner_term(text("(j + ", lane, ")")));
        list += text(lane == 0 ? "" : ", ", fold_.element(from, load(from, "in0", place)));
      }
      return text("(", type_, "16)(", list, ")");
    }
    if (from == DType::f16) return text("sixteen_f16((const global half*)in0 + ", at, ")");
    std::string raw = text("vload16(0, in0 + ", at, ")");
    if (from == DType::bf16) return text("as_float16(convert_uint16(", raw, ") << 16)");
    if (std::string_view(storage_name(from)) == type_) return raw;
    return text("convert_", type_, "16(", raw, ")");
  }

  // CPU: neighbouring results side by side, a strip of them at a time.
  KernelLaunch strips() {
    const int inner = kept_.rank() - 1;
    const std::int64_t columns = kept_.length(inner), strip = strip_width(reduction_);
    const std::int64_t strips_a_row = (columns + strip - 1) / strip;
    const std::int64_t tasks = results_ / columns * strips_a_row * parts_;
    kernel_.number("parts", parts_);
    kernel_.number("strips_a_row", strips_a_row);
    distribute(tasks);
    bounds_of_part("(task % parts)");
    kernel_.line("    const long row_strip = task / parts;");
    kernel_.line(text("    const long column = row_strip % strips_a_row * ", strip, ";"));
    kernel_.line(text("    const long width = min(k_n", inner, " - column, (long)", strip, ");"));
    kernel_.line(text("    ", kept_.split("k", text("row_strip / strips_a_row * k_n", inner, " + column"), "long")));
    kernel_.line(text("    ", origins()));
    kernel_.line(text("    ", type_, " some[", strip, "]; ", type_, " total[", strip, "];"));
    kernel_.line(text("    for (int l = 0; l < ", strip, "; ++l) total[l] = ", fold_.start(), ";"));
    kernel_.line(text("    ", reduced_.split("r", "begin", "long")));
    const int last = reduced_.rank() - 1;
    const std::string at = text("r_c", last), length = text("r_n", last);
    kernel_.line("    for (long done = begin; done < end;) {");
    kernel_.line("      const long until = min(done + 256, end);");
    kernel_.line(text("      for (int l = 0; l < ", strip, "; ++l) some[l] = ", fold_.start(), ";"));
    kernel_.line("      while (done < until) {");
    kernel_.line(text("        ", starts_of_rows()));
    kernel_.line(
        text("        if (", at, " + ", side_by_side, " <= ", length, " && done + ", side_by_side, " <= until) {"));
    strip_loop(several_rows());
    kernel_.line(text("        done += ", side_by_side, "; ", at, " += ", side_by_side, ";"));
    kernel_.line("        } else {");
    strip_loop(text(next_in_strip("0", "l"), " some[l] = ", fold_.two("some[l]", "next"), ";"));
    kernel_.line(text("        ++done; ++", at, ";"));
    kernel_.line("        }");
    kernel_.line(text("        if (", at, " == ", length, ") { ", at, " = 0; ", reduced_.advance("r"), " }"));
    kernel_.line("      }");
    kernel_.line(
        text("      for (int l = 0; l < ", strip, "; ++l) total[l] = ", fold_.two("total[l]", "some[l]"), ";"));
    kernel_.line("    }");
    kernel_.line(text("    const long target = ", written_place("task % parts"), ";"));
    kernel_.line(text("    for (int l = 0; l < width; ++l) {"));
    kernel_.line(text("      const long at = target + l * ", written_.inner_step(), ";"));
    kernel_.line(text("      ", finish("at", "total[l]")));
    kernel_.line("    }");
    kernel_.line("  }");
    return kernel_.finish();
  }

  // Pairs first: what is added to `some` waits for the sum before it, and few rows would wait for memory alone.
  std::string several_rows() const {
    std::string out;
    for (int row = 0; row < side_by_side; ++row) {
      out += text(type_, " row", row, "_next; { ", next_in_strip(text(row), "l"), " row", row, "_next = next; } ");
    }
    const std::string first = fold_.two("row0_next", "row1_next"), second = fold_.two("row2_next", "row3_next");
    return text(out, "const ", type_, " pair0 = ", first, "; const ", type_, " pair1 = ", second, "; const ", type_,
                " both = ", fold_.two("pair0", "pair1"), "; some[l] = ", fold_.two("some[l]", "both"), ";");
  }

  // A full strip has a length the compiler knows, and stays in registers.
  void strip_loop(std::string_view statement) {
    const std::int64_t strip = strip_width(reduction_);
    kernel_.line(
        text("        if (width == ", strip, ") { for (int l = 0; l < ", strip, "; ++l) { ", statement, " } }"));
    kernel_.line(text("        else { for (int l = 0; l < width; ++l) { ", statement, " } }"));
  }

  // GPU: an item a result, neighbours reading neighbours.
  KernelLaunch item_a_result() {
    kernel_.line("  const long result = get_global_id(0);");
    kernel_.line("  if (result >= results) return;");
    kernel_.line(text("  ", kept_.split("k", "result", "long")));
    kernel_.line(text("  ", origins()));
    kernel_.line(text("  ", type_, " total = ", fold_.start(), ";"));
    kernel_.line(text("  ", reduced_.split("r", "0", "long")));
    kernel_.line("  for (long done = 0; done < length; ++done) {");
    kernel_.line(text("    ", next_at_coordinates()));
    kernel_.line(text("    total = ", fold_.two("total", "next"), ";"));
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

  // GPU: a work-group a block of neighbouring results (or part of it), in rows of items, which read neighbours; then a
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
    kernel_.line("  #pragma unroll 4");
    kernel_.line(text("  for (long i = begin + line; i < end; i += ", height, ") {"));
    kernel_.line(text("    ", next_at_coordinates()));
    kernel_.line(text("    total = ", fold_.two("total", "next"), ";"));
    kernel_.line(text("    ", reduced_.advance_inner("r", height)));
    kernel_.line("  }");
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

std::int64_t strip_width(const Reduction& reduction) {
  const auto columns = static_cast<std::uint64_t>(reduction.kept.shape[reduction.kept.rank() - 1]);
  return static_cast<std::int64_t>(std::min<std::uint64_t>(std::bit_ceil(columns), 64));
}

std::int64_t block_width(const Context& context, const Reduction& reduction) {
  return std::min(strip_width(reduction), static_cast<std::int64_t>(context.group));
}

KernelLaunch reduction_kernel(const Context& context, const Reduction& reduction, std::int64_t parts) {
  return ReductionText(context, reduction, parts).generate();
}

}  // namespace tyto::opencl
