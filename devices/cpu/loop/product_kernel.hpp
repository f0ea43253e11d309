// SPDX-License-Identifier: MIT
// Kernels of products that also run the loop over their result that comes next.
#pragma once

#include <memory>
#include <span>

#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/result_loop.hpp"

namespace tyto::cpu {

/// The kernel of a product that may take a loop over its result along.
class ProductKernel : public core::Kernel {
 public:
  /// Type and size of the dense result; no rows where the kernel takes no loop.
  struct Result {
    DType dtype = DType::f32;
    std::int64_t rows = 0, columns = 0;
  };

  explicit ProductKernel(const Result& result) : result_(result) {}

  const Result& result() const { return result_; }
  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const final {
    launch_with(nullptr, inputs, outputs, workspace);
  }
  bool joins(const core::Kernel& next) const final;
  void launch_joined(const core::LaunchAddresses& own, const core::Kernel& next,
                     const core::LaunchAddresses& of_next) const final;
  virtual void launch_with(const ResultLoop* loop, Addresses inputs, Addresses outputs,
                           core::Address workspace) const = 0;

 private:
  Result result_;
};

/// A product that is a function object called as f(loop, inputs, outputs, workspace).
template <class F>
class FunctionProduct final : public ProductKernel {
 public:
  FunctionProduct(F function, std::size_t workspace, const Result& result)
      : ProductKernel(result), function_(std::move(function)), workspace_(workspace) {}
  std::size_t workspace() const override { return workspace_; }
  void launch_with(const ResultLoop* loop, Addresses inputs, Addresses outputs,
                   core::Address workspace) const override {
    function_(loop, inputs, outputs, workspace);
  }

 private:
  F function_;
  std::size_t workspace_;
};

/// `takes_loop`: whether the routine does, given a dense result.
template <class F>
KernelRef make_product_kernel(F function, std::size_t workspace, bool takes_loop, const core::Operand& result) {
  ProductKernel::Result seen;
  const core::View& view = result.view;
  if (takes_loop && core::is_dense(view) && view.offset == 0 && view.count() != 0) {
    seen = {result.dtype, view.count() / view.shape.back(), view.shape.back()};
  }
  return std::make_shared<const FunctionProduct<F>>(std::move(function), workspace, seen);
}

/// The kernel itself, or one that may also follow a product part by part.
KernelRef may_follow_product(KernelRef kernel, const core::BoundLoop& bound);

}  // namespace tyto::cpu
