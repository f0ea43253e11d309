// SPDX-License-Identifier: MIT
// Writes the kernel of a loop over elements, a work-item each, for any strides.
#include <algorithm>

#include "core/value/text.hpp"
#include "devices/opencl/loops/element_body.hpp"
#include "devices/opencl/loops/named_loop.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

namespace {

// One operand of the loops: where it lies once neighbouring axes have been merged.
struct Lane {
  std::string name;  // "in0", "out0"
  bool is_input;
  std::size_t which;
  core::View view;
};

std::string stride_name(const Lane& lane, int axis) { return text("s_", lane.name, "_", axis); }

// The term of the innermost axis: unit and zero strides are worth a text of their own.
std::string along(std::int64_t stride, std::string_view counter, const std::string& name) {
  if (stride == 1) return std::string(counter);
  if (stride == 0) return "0";
  return text(counter, " * ", name);
}

class ElementKernel {
 public:
  ElementKernel(const Context& context, const NamedLoop& loop)
      : context_(context), bound_(loop.bound), program_(loop.program()), body_(context, loop) {
    for (std::size_t i = 0; i < bound_.inputs.size(); ++i) {
      if (!body_.raw(i)) lanes_.push_back({text("in", i), true, i, bound_.inputs[i].view});
    }
    for (std::size_t i = 0; i < bound_.outputs.size(); ++i) {
      lanes_.push_back({text("out", i), false, i, bound_.outputs[i].view});
    }
    count_ = bound_.outputs[0].view.count();
    collapse();
  }

  KernelLaunch generate() {
    KernelText kernel(fits_int());
    for (std::size_t i = 0; i < bound_.inputs.size(); ++i) {
      kernel.memory(MemoryArgument::Role::input, bound_.operand_of_input(i), bound_.inputs[i], text("in", i));
    }
    for (std::size_t i = 0; i < bound_.outputs.size(); ++i) {
      kernel.memory(MemoryArgument::Role::output, bound_.operand_of_output(i), bound_.outputs[i], text("out", i));
    }
    kernel.number("count", count_);
    body_.declare(kernel);
    declare_axes(kernel);
    kernel.line(text("  const ", kernel.index(), " i = get_global_id(0);"));
    kernel.line("  if (i >= count) return;");
    if (rank_ > 1) {
      coordinates_of(kernel, "i");
      for (const Lane& lane : lanes_) {
        kernel.line(text("  const ", kernel.index(), " row_", lane.name, " = ", row_start(lane), ";"));
      }
    }
    element(kernel);
    KernelLaunch launch = kernel.finish(text("__attribute__((reqd_work_group_size(", context_.group, ", 1, 1))) "));
    launch.local[0] = context_.group;
    launch.global[0] = (static_cast<std::size_t>(count_) + context_.group - 1) / context_.group * context_.group;
    return launch;
  }

 private:
  void collapse() {
    std::vector<core::View> views;
    for (const Lane& lane : lanes_) views.push_back(lane.view);
    core::collapse(views);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      // A single element is a dense run of one, so that it shares the kernel of longer ones.
      if (views[i].rank() == 0) views[i] = core::View{{1}, {1}, views[i].offset};
      lanes_[i].view = views[i];
    }
    rank_ = lanes_[0].view.rank();
  }

  std::int64_t length(int axis) const { return lanes_[0].view.shape[static_cast<std::size_t>(axis)]; }
  static std::int64_t stride(const Lane& lane, int axis) { return lane.view.strides[static_cast<std::size_t>(axis)]; }

  bool fits_int() const {
    constexpr std::int64_t limit = std::int64_t{1} << 30;
    if (count_ >= limit) return false;
    return std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
      const core::ElementRange range = core::touched(core::View{lane.view.shape, lane.view.strides, 0});
      return range.first > -limit && range.past < limit;
    });
  }

  // Lengths of all axes but the first, and the strides that the text does not fix.
  void declare_axes(KernelText& kernel) const {
    for (int axis = 1; axis < rank_; ++axis) kernel.number(text("n", axis), length(axis));
    for (const Lane& lane : lanes_) {
      for (int axis = 0; axis < rank_; ++axis) {
        const bool inner = axis == rank_ - 1;
        if (!inner || (stride(lane, axis) != 0 && stride(lane, axis) != 1)) {
          kernel.number(stride_name(lane, axis), stride(lane, axis));
        }
      }
    }
  }

  // The place of a lane's row: the sum over all axes but the innermost, whose coordinates are called c0, c1, ...
  std::string row_start(const Lane& lane) const {
    std::string sum;
    for (int axis = 0; axis + 1 < rank_; ++axis) {
      sum += text(axis == 0 ? "" : " + ", "c", axis, " * ", stride_name(lane, axis));
    }
    return sum.empty() ? "0" : sum;
  }

  std::string place(const Lane& lane, std::string_view counter) const {
    const int inner = rank_ - 1;
    const std::string within = along(stride(lane, inner), counter, stride_name(lane, inner));
    return rank_ == 1 ? within : text("row_", lane.name, " + ", within);
  }

  void coordinates_of(KernelText& kernel, std::string_view position) const {
    kernel.line(text("  ", kernel.index(), " rest = ", position, ";"));
    for (int axis = rank_ - 1; axis > 0; --axis) {
      kernel.line(text("  ", kernel.index(), " c", axis, " = rest % n", axis, "; rest /= n", axis, ";"));
    }
    kernel.line(text("  ", kernel.index(), " c0 = rest;"));
  }

  void element(KernelText& kernel) const {
    const std::string counter = rank_ == 1 ? "i" : text("c", rank_ - 1);
    for (const Lane& lane : lanes_) {
      if (lane.is_input) kernel.line(text("  ", body_.load_input(lane.which, place(lane, counter))));
    }
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      kernel.line(text("  ", body_.step(v, "i")));
    }
    for (const Lane& lane : lanes_) {
      if (!lane.is_input) kernel.line(text("  ", body_.store_output(lane.which, place(lane, counter))));
    }
  }

  const Context& context_;
  const core::BoundLoop& bound_;
  const core::LoopProgram& program_;
  ElementBody body_;
  std::vector<Lane> lanes_;
  std::int64_t count_ = 0;
  int rank_ = 1;
};

}  // namespace

LaunchPlan element_launch_plan(const Context& context, const NamedLoop& loop) {
  LaunchPlan plan;
  plan.name = loop.name;
  if (loop.bound.outputs[0].view.count() == 0) return plan;
  plan.launches.push_back(ElementKernel(context, loop).generate());
  return plan;
}

}  // namespace tyto::opencl
