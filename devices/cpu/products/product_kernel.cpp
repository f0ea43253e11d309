// A product stores a part of its result, and the loop runs over it before it leaves the near caches. Where the plan has
// the loop's result anywhere else than in the product's, the two run one after the other.
#include "devices/cpu/products/product_kernel.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "core/device/repeated_launches.hpp"
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
class ElementLoop : public core::Kernel {
 public:
  ElementLoop(std::shared_ptr<const core::Kernel> kernel, const TileProgram& program,
              std::span<const core::Operand> inputs, std::span<const core::Operand> outputs)
      : kernel_(std::move(kernel)),
        program_(program),
        inputs_(inputs.begin(), inputs.end()),
        outputs_(outputs.begin(), outputs.end()) {
    std::ranges::transform(inputs_, std::back_inserter(extents_), extent_of);
  }

  std::size_t workspace() const override { return kernel_->workspace(); }
  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    kernel_->launch(inputs, outputs, workspace);
  }

  /// The loop over lines of so many elements; null where some operand does not cross them with one stride, and for
  /// other lines than those asked for first.
  const RangeProgram* over_lines(std::int64_t columns) const {
    std::call_once(once_, [&] {
      columns_ = columns;
      std::vector<core::Operand> operands = inputs_;
      operands.push_back(outputs_[0]);
      if (columns > 1 && jit::RowLayouts::of(operands, columns))
        ranges_ = prepare_ranges(program_, inputs_, outputs_, columns);
    });
    return columns == columns_ ? ranges_.get() : nullptr;
  }

  bool fits(const ProductKernel::Result& product) const {
    return outputs_[0].dtype == product.dtype && outputs_[0].view.count() == product.rows * product.columns;
  }

  /// Whether the loop computes the result in its place, and reads it nowhere else than there.
  bool is_over(const std::byte* result, std::span<const core::Address> inputs, const core::Address& output) const {
    if (output.pointer() != result) return false;
    const auto bytes =
        static_cast<std::ptrdiff_t>(outputs_[0].view.count()) * static_cast<std::ptrdiff_t>(size_of(outputs_[0].dtype));
    bool reads = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::byte* const address = inputs[i].pointer();
      if (address == result && is_alike(inputs_[i], outputs_[0])) {
        reads = true;
      } else if (address + extents_[i].first < result + bytes && result < address + extents_[i].past) {
        return false;
      }
    }
    return reads;
  }

 private:
  std::shared_ptr<const core::Kernel> kernel_;
  TileProgram program_;
  std::vector<core::Operand> inputs_, outputs_;
  std::vector<Extent> extents_;
  mutable std::once_flag once_;
  mutable std::int64_t columns_ = 0;
  mutable std::shared_ptr<const RangeProgram> ranges_;
};

/// One whose kernel a loop may launch again and again.
class RepeatedElementLoop final : public ElementLoop, public core::RepeatedLaunches {
 public:
  RepeatedElementLoop(std::shared_ptr<const core::Kernel> kernel, const core::RepeatedLaunches& repeated,
                      const TileProgram& program, std::span<const core::Operand> inputs,
                      std::span<const core::Operand> outputs)
      : ElementLoop(std::move(kernel), program, inputs, outputs), repeated_(repeated) {}

  bool can_stop() const override { return repeated_.can_stop(); }
  std::int64_t repeat(std::span<const core::Address> operands, const core::Repetition& repetition) const override {
    return repeated_.repeat(operands, repetition);
  }

 private:
  const core::RepeatedLaunches& repeated_;  // the kernel
};

class ProductAndLoop final : public core::JoinedKernel {
 public:
  ProductAndLoop(const ProductKernel& product, const ElementLoop& loop, const RangeProgram& ranges)
      : product_(product), loop_(loop), ranges_(ranges) {}

  void launch(std::span<const core::StepAddresses> steps) const override {
    const core::StepAddresses &product = steps[0], &loop = steps[1];
    if (!loop_.is_over(product.outputs[0].pointer(), loop.inputs, loop.outputs[0])) {
      product_.launch(product.inputs, product.outputs, product.workspace);
      loop_.launch(loop.inputs, loop.outputs, loop.workspace);
      return;
    }
    std::array<OperandBase, TileProgram::most_operands> inputs;
    for (std::size_t i = 0; i < loop.inputs.size(); ++i) inputs[i] = OperandBase(loop.inputs[i].pointer());
    const OperandBase output{loop.outputs[0].pointer()};
    const ResultLoop behind{&ranges_, {inputs.data(), loop.inputs.size()}, {&output, 1}, product_.result().columns};
    product_.launch_with(&behind, product.inputs, product.outputs, product.workspace);
  }

 private:
  // They live as long as the executable.
  const ProductKernel& product_;
  const ElementLoop& loop_;
  const RangeProgram& ranges_;
};

const ProductKernel* product_of(const core::Kernel* kernel) {
  const auto* const product = dynamic_cast<const ProductKernel*>(kernel);
  return product != nullptr && product->result().rows != 0 ? product : nullptr;
}

}  // namespace

std::shared_ptr<const core::Kernel> may_follow_product(std::shared_ptr<const core::Kernel> kernel,
                                                       const TileProgram& program,
                                                       std::span<const core::Operand> inputs,
                                                       std::span<const core::Operand> outputs) {
  if (outputs.size() != 1 || !jit::is_available() || program.instructions.empty()) return kernel;
  const core::Operand& result = outputs[0];
  const bool floating = result.dtype == DType::f32 || result.dtype == DType::f64;
  if (!floating || !core::is_dense(result.view) || result.view.offset != 0 || result.view.count() < fewest_elements)
    return kernel;
  const bool over_one =
      std::ranges::any_of(inputs, [&](const core::Operand& input) { return is_alike(input, result); });
  if (!over_one) return kernel;
  if (const auto* const repeated = dynamic_cast<const core::RepeatedLaunches*>(kernel.get()))
    return std::make_shared<const RepeatedElementLoop>(std::move(kernel), *repeated, program, inputs, outputs);
  return std::make_shared<const ElementLoop>(std::move(kernel), program, inputs, outputs);
}

std::vector<core::JoinedSteps> join_products(std::span<const core::Kernel* const> steps) {
  std::vector<core::JoinedSteps> joined;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const ProductKernel* const product = product_of(steps[i]);
    if (product == nullptr) continue;
    const auto* const loop = dynamic_cast<const ElementLoop*>(steps[i + 1]);
    if (loop == nullptr || !loop->fits(product->result())) continue;
    const RangeProgram* const ranges = loop->over_lines(product->result().columns);
    if (ranges == nullptr) continue;
    joined.push_back({i, i + 2, std::make_shared<const ProductAndLoop>(*product, *loop, *ranges)});
    ++i;
  }
  return joined;
}

}  // namespace tyto::cpu
