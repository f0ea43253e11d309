// SPDX-License-Identifier: MIT
// Writes kernels over rows: a work-group a row, with a reduction tree in local memory.
#include <algorithm>
#include <bit>
#include <set>

#include "core/loop/loop_levels.hpp"
#include "devices/opencl/loops/element_body.hpp"
#include "devices/opencl/loops/named_loop.hpp"
#include "devices/opencl/text/fold_text.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

using Value = core::LoopValue;

constexpr std::size_t most_local_memory = 16384;  // bytes that a row may keep: two groups fit a unit
constexpr std::size_t smallest_group = 32;

View part_of(const View& view, const IntList& axes) {
  View out;
  for (const std::int64_t axis : axes) {
    out.shape.push_back(view.shape[static_cast<std::size_t>(axis)]);
    out.strides.push_back(view.strides[static_cast<std::size_t>(axis)]);
  }
  return out;
}

/// Merges axes where all views allow it; each has at least one afterwards, so that there is a loop.
void merge(std::vector<View>& views) {
  if (views[0].count() != 0) core::collapse(views);
  for (View& view : views) {
    if (view.rank() == 0) view = View{{1}, {1}, 0};
  }
}

/// A level, and the whole values that its traversal computes, in order: inputs are loaded, kept values read.
struct RowTraversal {
  core::LoopLevel level;
  std::vector<Value> computed;
};

class RowKernel {
 public:
  RowKernel(const Context& context, const NamedLoop& loop)
      : context_(context),
        bound_(loop.bound),
        program_(loop.program()),
        whole_(loop.bound.whole()),
        body_(context, loop),
        kernel_(false) {
    lay_out();
    rows_ = kept_views_[0].count();
    length_ = reduced_views_[0].count();
    traversals_ = traversals(true);
    if (bytes_kept() > most_local_memory) traversals_ = traversals(false);
  }

  KernelLaunch generate() {
    declare();
    return group_a_row();
  }

 private:
  using Role = MemoryArgument::Role;

  const Shape& shape() const { return bound_.loop.shape; }

  std::vector<RowTraversal> traversals(bool keeps) const {
    std::vector<RowTraversal> traversals;
    std::vector<bool> at_hand(program_.values(), false);
    for (core::LoopLevel& level : core::plan_levels(program_, whole_, keeps).levels) {
      std::vector<bool> needed(program_.values(), false);
      for (const Value fold : level.folds) needed[program_.instruction_of(fold).operands[0]] = true;
      for (const Value value : level.kept) needed[value] = true;
      for (const Value result : program_.outputs) needed[result] = needed[result] || level.folds.empty();
      RowTraversal traversal{std::move(level), {}};
      for (std::size_t v = program_.values(); v-- > 0;) {
        if (!needed[v] || !whole_[v]) continue;
        traversal.computed.push_back(static_cast<Value>(v));
        if (v < program_.first_instruction() || at_hand[v]) continue;
        for (const Value operand : program_.operands_of(v)) needed[operand] = true;
      }
      std::ranges::reverse(traversal.computed);
      for (const Value value : traversal.level.kept) at_hand[value] = true;
      traversals.push_back(std::move(traversal));
    }
    return traversals;
  }

  const char* type(std::size_t value) const { return type_name(compute_of(body_.type(value))); }

  // Lane 0 is the shape itself; inputs and outputs follow.
  std::size_t input_lane(std::size_t i) const { return 1 + i; }
  std::size_t output_lane(std::size_t i) const { return 1 + bound_.inputs.size() + i; }

  void lay_out() {
    IntList kept;
    for (std::int64_t axis = 0; axis < shape().rank(); ++axis) {
      if (std::ranges::find(bound_.loop.axes, axis) == bound_.loop.axes.end()) kept.push_back(axis);
    }
    const auto add = [&](const View& view, bool whole) {
      kept_views_.push_back(part_of(view, kept));
      // Values with one element a row have stride 0 along the row.
      View along = part_of(View::dense(shape()), bound_.loop.axes);
      if (whole) along.strides = part_of(view, bound_.loop.axes).strides;
      else std::ranges::fill(along.strides, 0);
      reduced_views_.push_back(std::move(along));
    };
    add(View::dense(shape()), true);
    for (const core::Operand& input : bound_.inputs) add(input.view, true);
    for (std::size_t i = 0; i < bound_.outputs.size(); ++i) {
      add(bound_.outputs[i].view, whole_[program_.outputs[i]]);
    }
    merge(kept_views_);
    merge(reduced_views_);
    for (std::size_t lane = 0; lane < kept_views_.size(); ++lane) {
      kept_.emplace_back(lane == 0 ? std::string("k") : text("k", lane), kept_views_[lane]);
      reduced_.emplace_back(lane == 0 ? std::string("r") : text("r", lane), reduced_views_[lane]);
    }
  }

  void declare() {
    for (std::size_t i = 0; i < bound_.inputs.size(); ++i) {
      kernel_.memory(Role::input, bound_.operand_of_input(i), bound_.inputs[i], text("in", i));
    }
    for (std::size_t i = 0; i < bound_.outputs.size(); ++i) {
      kernel_.memory(Role::output, bound_.operand_of_output(i), bound_.outputs[i], text("out", i));
    }
    kernel_.number("rows", rows_);
    kernel_.number("length", length_);
    kept_[0].declare_lengths(kernel_);
    reduced_[0].declare_lengths(kernel_);
    for (std::size_t lane = 1; lane < kept_.size(); ++lane) {
      kept_[lane].declare_strides(kernel_);
      reduced_[lane].declare_strides(kernel_);
    }
    body_.declare(kernel_);
    for (const RowTraversal& traversal : traversals_) {
      for (const std::size_t value : traversal.level.folds) {
        fold_of(value).declare_divisor(kernel_, text("divisor", value), static_cast<double>(length_));
      }
    }
  }

  FoldText fold_of(std::size_t value) const {
    const core::OpId op = program_.instruction_of(value).op;
    return {op, FoldText::accumulator_of(op, body_.type(operand_of(value)))};
  }
  std::size_t operand_of(std::size_t fold) const { return program_.instruction_of(fold).operands[0]; }
  std::string folded_element(std::size_t fold) const {
    return fold_of(fold).element(body_.type(operand_of(fold)), text("v", operand_of(fold)));
  }
  std::string finished(std::size_t fold, const std::string& value) const {
    return text("const ", type(fold), " v", fold, " = ",
                fold_of(fold).finished(body_.type(fold), value, text("divisor", fold)), ";");
  }

  std::size_t width_of(std::size_t value) const { return is_wide(compute_of(body_.type(value))) ? 8 : 4; }
  std::size_t bytes_kept() const {
    std::size_t bytes = 0;
    for (const RowTraversal& traversal : traversals_) {
      for (const std::size_t value : traversal.level.kept) bytes += width_of(value) * padded_length();
    }
    return bytes;
  }

  /// Of a row that is kept: few sizes, so that rows share kernels.
  std::size_t padded_length() const { return std::bit_ceil(static_cast<std::size_t>(length_)); }

  /// Places of the row's first element, and what there is one of in the row.
  void begin_row() {
    kernel_.line(text("    ", kept_[0].split("k", "row", "long")));
    for (std::size_t lane = 1; lane < kept_.size(); ++lane) {
      kernel_.line(text("    const long start", lane, " = ", kept_[lane].place("k"), ";"));
    }
    for (std::size_t i = 0; i < bound_.inputs.size(); ++i) {
      if (!whole_[i]) kernel_.line(text("    ", body_.load_input(i, text("start", input_lane(i)))));
    }
  }
  void end_row(std::string_view condition) {
    for (std::size_t i = 0; i < bound_.outputs.size(); ++i) {
      if (whole_[program_.outputs[i]]) continue;
      kernel_.line(text("    ", condition, body_.store_output(i, text("start", output_lane(i)))));
    }
  }
  void row_values(const RowTraversal& traversal) {
    for (const std::size_t value : traversal.level.row_values) {
      kernel_.line(text("    ", body_.step(value, "0")));
    }
  }

  std::string place(std::size_t lane) const { return text("start", lane, " + ", reduced_[lane].place("r")); }

  /// Writes the computation of element j in a traversal.
  void element(std::string_view indent, const RowTraversal& traversal) {
    kernel_.line(text(indent, reduced_[0].split("r", "j", "long")));
    for (const std::size_t value : traversal.computed) {
      if (value < program_.inputs) {
        kernel_.line(text(indent, body_.load_input(value, place(input_lane(value)))));
      } else if (kept_before_.contains(value)) {
        kernel_.line(text(indent, "const ", type(value), " v", value, " = keep", value, "[j];"));
      } else {
        kernel_.line(text(indent, body_.step(value, "0")));
      }
    }
    for (const std::size_t value : traversal.level.kept) {
      kernel_.line(text(indent, "keep", value, "[j] = v", value, ";"));
    }
  }
  void end_traversal(const RowTraversal& traversal) {
    kept_before_.insert(traversal.level.kept.begin(), traversal.level.kept.end());
  }

  bool writes_whole() const {
    return std::ranges::any_of(program_.outputs, [&](std::size_t value) { return whole_[value]; });
  }
  void store_whole(std::string_view indent) {
    for (std::size_t i = 0; i < bound_.outputs.size(); ++i) {
      if (!whole_[program_.outputs[i]]) continue;
      kernel_.line(text(indent, body_.store_output(i, place(output_lane(i)))));
    }
  }

  KernelLaunch group_a_row() {
    const std::size_t least = std::min(smallest_group, context_.group);
    const std::size_t group = std::clamp(std::bit_ceil(static_cast<std::size_t>(length_)), least, context_.group);
    // One tree for each type of accumulator serves all reductions, one after the other.
    std::set<std::string> types;
    for (const RowTraversal& traversal : traversals_) {
      for (const std::size_t fold : traversal.level.folds) types.insert(fold_of(fold).type());
      for (const std::size_t value : traversal.level.kept) {
        kernel_.line(text("  local ", type(value), " keep", value, "[", padded_length(), "];"));
      }
    }
    for (const std::string& each : types) kernel_.line(text("  local ", each, " tree_", each, "[", group, "];"));
    kernel_.line("  const long row = get_group_id(0);");
    kernel_.line("  const int me = get_local_id(0);");
    begin_row();
    for (const RowTraversal& traversal : traversals_) {
      row_values(traversal);
      for (const std::size_t fold : traversal.level.folds) {
        kernel_.line(text("    ", fold_of(fold).type(), " total", fold, " = ", fold_of(fold).start(), ";"));
      }
      if (!traversal.level.folds.empty() || writes_whole()) {
        kernel_.line(text("    for (long j = me; j < length; j += ", group, ") {"));
        element("      ", traversal);
        for (const std::size_t fold : traversal.level.folds) {
          const std::string total = text("total", fold);
          kernel_.line(text("      { const ", fold_of(fold).type(), " next = ", folded_element(fold), "; ", total,
                            " = ", fold_of(fold).two(total, "next"), "; }"));
        }
        if (traversal.level.folds.empty()) store_whole("      ");
        kernel_.line("    }");
      }
      for (const std::size_t fold : traversal.level.folds) tree(fold, group);
      end_traversal(traversal);
    }
    end_row("if (me == 0) ");
    KernelLaunch launch = kernel_.finish(text("__attribute__((reqd_work_group_size(", group, ", 1, 1))) "));
    launch.local[0] = group;
    launch.global[0] = static_cast<std::size_t>(rows_) * group;
    return launch;
  }

  void tree(std::size_t fold, std::size_t group) {
    const FoldText f = fold_of(fold);
    const std::string name = text("tree_", f.type());
    kernel_.line(text("    ", name, "[me] = total", fold, ";"));
    kernel_.line(text("    for (int width = ", group / 2, "; width > 0; width /= 2) {"));
    kernel_.line("      barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line(text("      if (me < width) ", name, "[me] = ", f.two(name + "[me]", name + "[me + width]"), ";"));
    kernel_.line("    }");
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line(text("    ", finished(fold, name + "[0]")));
    // Everyone has read it before the next reduction writes there.
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
  }

  const Context& context_;
  const core::BoundLoop& bound_;
  const core::LoopProgram& program_;
  std::vector<bool> whole_;  // by value
  ElementBody body_;
  KernelText kernel_;
  std::vector<View> kept_views_, reduced_views_;  // by lane
  std::vector<LoopAxes> kept_, reduced_;
  std::vector<RowTraversal> traversals_;
  std::set<std::size_t> kept_before_;
  std::int64_t rows_ = 0, length_ = 0;
};

}  // namespace

LaunchPlan row_launch_plan(const Context& context, const NamedLoop& loop) {
  LaunchPlan plan;
  plan.name = loop.name;
  if (element_count(core::reduced_shape(loop.bound.loop.shape, loop.bound.loop.axes, true)) == 0) return plan;
  plan.launches.push_back(RowKernel(context, loop).generate());
  return plan;
}

}  // namespace tyto::opencl
