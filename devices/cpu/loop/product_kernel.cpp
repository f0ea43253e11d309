// SPDX-License-Identifier: MIT
// Runs the loop over a product's result on each part of it before that leaves the near caches. Where the plan stores
// the loop's result anywhere else than in the product's, the two run one after the other.
#include "devices/cpu/loop/product_kernel.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/row_layouts.hpp"

namespace tyto::cpu {

namespace {

/// Shorter results stay in the first-level cache anyway.
constexpr std::int64_t fewest_elements = 2048;

/// Bytes of an operand, counted from its address.
struct Extent {
  std::ptrdiff_t first = 0, past = 0;
};

Extent extent_of(const core::Operand& operand) {
  const auto element = static_cast<std::ptrdiff_t>(size_of(operand.dtype));
  Extent extent{static_cast<std::ptrdiff_t>(operand.view.offset) * element, 0};
  extent.past = extent.first + element;
  for (std::size_t axis = 0; axis < operand.view.shape.size(); ++axis) {
    const auto reach =
        static_cast<std::ptrdiff_t>((operand.view.shape[axis] - 1) * operand.view.strides[axis]) * element;
    (reach < 0 ? extent.first : extent.past) += reach;
  }
  return extent;
}

/// Whether the operand lies as the result does, dense from its address on.
bool is_alike(const core::Operand& operand, const core::Operand& result) {
  return operand.dtype == result.dtype && operand.view.shape == result.view.shape && operand.view.offset == 0 &&
         core::is_dense(operand.view);
}

/// A loop over elements with one dense result, which is laid out as at least one of its operands.
class LineLoop final : public core::Kernel, public core::ElementLoop {
 public:
  LineLoop(KernelRef kernel, core::BoundLoop bound) : kernel_(std::move(kernel)), bound_(std::move(bound)) {
    std::ranges::transform(bound_.inputs, std::back_inserter(extents_), extent_of);
  }

  std::size_t workspace() const override { return kernel_->workspace(); }
  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    kernel_->launch(inputs, outputs, workspace);
  }
  bool repeats(bool stops) const override { return kernel_->repeats(stops); }
  std::int64_t repeat(Addresses operands, const core::Repetition& repetition) const override {
    return kernel_->repeat(operands, repetition);
  }
  const core::ElementLoop* element_loop() const override { return this; }

  /// The loop over lines of so many elements; null where some operand does not cross them with one stride, and for
  /// other lines than those asked for first.
  const RangeProgram* over_lines(std::int64_t columns) const {
    std::call_once(once_, [&] {
      columns_ = columns;
      std::vector<core::Operand> operands = bound_.inputs;
      operands.push_back(bound_.outputs[0]);
      if (columns > 1 && jit::RowLayouts::of(operands, columns)) ranges_ = prepare_ranges(bound_, columns);
    });
    return columns == columns_ ? ranges_.get() : nullptr;
  }

  bool fits(const ProductKernel::Result& product) const {
    const core::Operand& own = bound_.outputs[0];
    return own.dtype == product.dtype && own.view.count() == product.rows * product.columns;
  }

  /// Whether the loop computes the result in its place, and reads it nowhere else than there.
  bool is_over(const std::byte* result, Addresses inputs, const core::Address& output) const {
    if (output.pointer() != result) return false;
    const core::Operand& own = bound_.outputs[0];
    const auto bytes = static_cast<std::ptrdiff_t>(own.view.count()) * static_cast<std::ptrdiff_t>(size_of(own.dtype));
    bool reads = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::byte* const address = inputs[i].pointer();
      if (address == result && is_alike(bound_.inputs[i], own)) {
        reads = true;
      } else if (address + extents_[i].first < result + bytes && result < address + extents_[i].past) {
        return false;
      }
    }
    return reads;
  }

 private:
  KernelRef kernel_;
  core::BoundLoop bound_;
  std::vector<Extent> extents_;
  mutable std::once_flag once_;
  mutable std::int64_t columns_ = 0;
  mutable std::shared_ptr<const RangeProgram> ranges_;
};

/// The loop of the next kernel, which runs over this product's result; null where it has none.
const LineLoop* loop_behind(const ProductKernel::Result& product, const core::Kernel& next) {
  const auto* const loop = static_cast<const LineLoop*>(next.element_loop());
  return loop != nullptr && product.rows != 0 && loop->fits(product) ? loop : nullptr;
}

}  // namespace

KernelRef may_follow_product(KernelRef kernel, const core::BoundLoop& bound) {
  if (bound.outputs.size() != 1 || !jit::is_available() || bound.loop.program.instructions.empty()) return kernel;
  const core::Operand& result = bound.outputs[0];
  const bool floating = result.dtype == DType::f32 || result.dtype == DType::f64;
  if (!floating || !core::is_dense(result.view) || result.view.offset != 0 || result.view.count() < fewest_elements)
    return kernel;
  const bool over_one =
      std::ranges::any_of(bound.inputs, [&](const core::Operand& input) { return is_alike(input, result); });
  if (!over_one) return kernel;
  return std::make_shared<const LineLoop>(std::move(kernel), bound);
}

bool ProductKernel::joins(const core::Kernel& next) const {
  const LineLoop* const loop = loop_behind(result_, next);
  return loop != nullptr && loop->over_lines(result_.columns) != nullptr;
}

void ProductKernel::launch_joined(const core::LaunchAddresses& own, const core::Kernel& next,
                                  const core::LaunchAddresses& of_next) const {
  const LineLoop* const loop = loop_behind(result_, next);
  const RangeProgram* const ranges = loop != nullptr ? loop->over_lines(result_.columns) : nullptr;
  if (ranges == nullptr || !loop->is_over(own.outputs[0].pointer(), of_next.inputs, of_next.outputs[0]))
    return core::Kernel::launch_joined(own, next, of_next);
  std::array<OperandBase, most_operands> inputs;
  for (std::size_t i = 0; i < of_next.inputs.size(); ++i) inputs[i] = OperandBase(of_next.inputs[i].pointer());
  const OperandBase output{of_next.outputs[0].pointer()};
  const ResultLoop behind{ranges, {inputs.data(), of_next.inputs.size()}, {&output, 1}, result_.columns};
  launch_with(&behind, own.inputs, own.outputs, own.workspace);
}

}  // namespace tyto::cpu
