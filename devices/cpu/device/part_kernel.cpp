// SPDX-License-Identifier: MIT
// Addresses are repeated on the stack, so that a launch allocates nothing.
#include "devices/cpu/device/part_kernel.hpp"

#include <array>
#include <utility>

#include "devices/cpu/loop/loop_types.hpp"

namespace tyto::cpu {

namespace {

class PartKernel final : public core::Kernel {
 public:
  PartKernel(KernelRef kernel, std::vector<std::size_t> input_of, std::vector<std::size_t> output_of)
      : kernel_(std::move(kernel)), input_of_(std::move(input_of)), output_of_(std::move(output_of)) {}

  std::size_t workspace() const override { return kernel_->workspace(); }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    std::array<core::Address, most_operands> from, to;
    for (std::size_t i = 0; i < input_of_.size(); ++i) from[i] = inputs[input_of_[i]];
    for (std::size_t i = 0; i < output_of_.size(); ++i) to[i] = outputs[output_of_[i]];
    kernel_->launch(std::span(from).first(input_of_.size()), std::span(to).first(output_of_.size()), workspace);
  }

 private:
  KernelRef kernel_;
  std::vector<std::size_t> input_of_, output_of_;
};

}  // namespace

KernelRef with_whole_operands(const core::BoundLoop& bound, KernelRef kernel) {
  if (bound.input_of.empty() && bound.output_of.empty()) return kernel;
  return std::make_shared<const PartKernel>(std::move(kernel), bound.input_of, bound.output_of);
}

}  // namespace tyto::cpu
