// SPDX-License-Identifier: MIT
// The CPU's kernels, family by family: each family lists which operators it prepares and on which layouts.
#pragma once

#include <memory>
#include <span>

#include "core/device/device.hpp"

namespace tyto::cpu {

using KernelRef = std::shared_ptr<const core::Kernel>;
using Addresses = std::span<const core::Address>;

/// How the CPU runs one operator.
struct KernelEntry {
  core::OpId op;
  /// Chooses the implementation for a step. Everything costly happens here, not at launch.
  KernelRef (*prepare)(const core::Step& step);
  /// Inputs (bit i) that must be dense for this step; null when any strides will do.
  std::uint64_t (*requires_dense)(const core::Step& step) = nullptr;
  /// Whether results may lie as the step says; null when they must be dense, at offset zero of their addresses.
  bool (*writes_strided)(const core::Step& step) = nullptr;
};

// Each returns a constant table. A kernel takes every element type that the operator's shape rule admits, writes dense
// outputs (offset zero at the address) unless its entry says that it takes others, and never allocates.
std::span<const KernelEntry> elementwise_kernels();  // every element-wise operator, cast and copy; strided outputs
std::span<const KernelEntry> create_kernels();       // fill, arange, eye, one_hot
std::span<const KernelEntry> random_kernels();
std::span<const KernelEntry> reduce_kernels();  // sum ... logsumexp, argmin, argmax
std::span<const KernelEntry> scan_kernels();    // cumsum ... cummax
std::span<const KernelEntry> move_kernels();    // set_slice concat tile repeat roll pad diag_embed tril triu
std::span<const KernelEntry> gather_kernels();  // take take_along_axis gather
std::span<const KernelEntry> scatter_kernels();
std::span<const KernelEntry> bounds_kernels();  // check_bounds
std::span<const KernelEntry> sort_kernels();    // sort argsort topk searchsorted histogram
std::span<const KernelEntry> matmul_kernels();
std::span<const KernelEntry> quantised_kernels();    // products with weights of few bits
std::span<const KernelEntry> linalg_kernels();       // factorisations, and what is solved by them
std::span<const KernelEntry> fourier_kernels();      // transforms along an axis, complex and real
std::span<const KernelEntry> attention_kernels();    // attention and its gradient
std::span<const KernelEntry> loop_kernels();         // softmax, log_softmax, fused groups
std::span<const KernelEntry> window_kernels();       // convolution, pooling, resizing and their gradients
std::span<const KernelEntry> suppression_kernels();  // nms
std::span<const KernelEntry> collective_kernels();   // all_reduce ... recv
std::span<const KernelEntry> epilogue_kernels();     // products with an epilogue, packing of their weights

/// See core::Device::packed_bytes.
std::int64_t packed_bytes(core::OpId op, const core::ProductAttributes& product, DType dtype);

/// Bit mask for KernelEntry::requires_dense: every input dense.
inline std::uint64_t all_dense(const core::Step&) { return ~std::uint64_t{0}; }

/// KernelEntry::writes_strided of kernels that write results with any strides.
inline bool any_result(const core::Step&) { return true; }

/// A kernel that is a function object called as f(inputs, outputs, workspace).
template <class F>
class FunctionKernel final : public core::Kernel {
 public:
  FunctionKernel(F function, std::size_t workspace) : function_(std::move(function)), workspace_(workspace) {}
  std::size_t workspace() const override { return workspace_; }
  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    function_(inputs, outputs, workspace);
  }

 private:
  F function_;
  std::size_t workspace_;
};

template <class F>
KernelRef make_kernel(F function, std::size_t workspace = 0) {
  return std::make_shared<const FunctionKernel<F>>(std::move(function), workspace);
}

/// A kernel that clears its result first, unless it holds zeros already: a function object called as
/// f(inputs, outputs, holds_zeros).
template <class F>
class ClearingKernel final : public core::Kernel {
 public:
  explicit ClearingKernel(F function) : function_(std::move(function)) {}
  void launch(Addresses inputs, Addresses outputs, core::Address) const override { function_(inputs, outputs, false); }
  void launch_into_zeros(Addresses inputs, Addresses outputs, core::Address) const override {
    function_(inputs, outputs, true);
  }

 private:
  F function_;
};

template <class F>
KernelRef make_clearing_kernel(F function) {
  return std::make_shared<const ClearingKernel<F>>(std::move(function));
}

/// Whether the first result has no elements. Its other extents may then be anything, so what a kernel keeps for each
/// row or block of them must not be made.
inline bool result_is_empty(const core::Step& step) { return step.outputs[0].view.count() == 0; }

/// The kernel of a step whose result is empty.
inline KernelRef no_work() {
  return make_kernel([](Addresses, Addresses, core::Address) {});
}

}  // namespace tyto::cpu
