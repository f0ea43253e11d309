// SPDX-License-Identifier: MIT
// Base of convolutions that read the kernel unpacked: pairs of window coordinates, and packing that only copies.
#pragma once

#include <cstring>

#include "devices/cpu/products/convolution/convolution_routine.hpp"
#include "devices/cpu/products/window.hpp"

namespace tyto::cpu {

class DirectConvolution : public ConvolutionRoutine {
 public:
  void pack(const void* kernel, void* packed) const override { std::memcpy(packed, kernel, kernel_bytes()); }
  std::string packed_layout() const override { return "dense"; }

 protected:
  explicit DirectConvolution(const ConvolutionProblem& problem)
      : problem_(problem), g_(problem), window_pairs_(window_pairs_of(g_.axes, pairs_of(problem.pass))) {
    // Kernels of bytes are packed for instructions that multiply them alone.
    if (problem.packed_kernel && !problem.bytes) packed_space_.reserve(kernel_bytes());
  }

  ConvolutionProblem problem_;
  Geometry g_;
  AxisWindowPairs window_pairs_;  // of each place that the pass writes

 private:
  static auto pairs_of(ConvolutionPass pass) -> WindowPairs (*)(const WindowAxis&) {
    switch (pass) {
      case ConvolutionPass::forward: return WindowPairs::of_output;
      case ConvolutionPass::backward_input: return WindowPairs::of_input;
      case ConvolutionPass::backward_kernel: break;
    }
    return WindowPairs::of_tap;
  }
  std::size_t kernel_bytes() const noexcept {
    return static_cast<std::size_t>(g_.kernel_elements()) * size_of(problem_.dtype);
  }
};

}  // namespace tyto::cpu
