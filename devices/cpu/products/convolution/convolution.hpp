// SPDX-License-Identifier: MIT
// Convolutions over one to three axes and their gradients: prepared once, run many times without allocating.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tyto/dtype.hpp>

#include "devices/cpu/arithmetic/limits.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/loop/result_loop.hpp"
#include "devices/cpu/products/routine.hpp"
#include "devices/cpu/products/window.hpp"

namespace tyto::cpu {

/// Which of the three products of a convolution is computed. Transposed convolution is `backward_input`.
enum class ConvolutionPass { forward, backward_input, backward_kernel };

/// Dense tensors, save that pixels of a result may lie apart: input (batch, axes..., in_channels), kernel (axes...,
/// in_channels / groups, out_channels), output (batch, axes..., out_channels). f16 and bf16 accumulate in f32; integers
/// wrap round; booleans take `any of and`. Bytes are u8 by i8 with sums of i32, dense and forward only.
struct ConvolutionProblem {
  ConvolutionPass pass = ConvolutionPass::forward;
  DType dtype = DType::f32;
  bool bytes = false;  ///< the input is u8, the kernel i8; dtype is i32
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t groups = 1;
  std::vector<WindowAxis> axes;   ///< one to three, outermost first
  std::int64_t result_pitch = 0;  ///< forward only: elements from one pixel of the result to the next; 0: out_channels
  bool packed_kernel = false;     ///< run() receives the kernel as pack() left it; not for backward_kernel
  bool scale = false;             ///< forward only: multiply each position by out_channels values; f32 and f64
  bool bias = false;              ///< forward only: then add out_channels values to each position
  bool residual = false;          ///< forward only: add a tensor shaped like the output
  Limits<double> limits = {};     ///< forward only, last
  bool drops_nan = false;         ///< limiting may lose NaN, as oneDNN's does
};

/// forward reads input and kernel, backward_input reads output_gradient and kernel, backward_kernel reads input and
/// output_gradient; each writes the whole of `result`.
struct ConvolutionArguments {
  const void* input = nullptr;
  const void* kernel = nullptr;  ///< packed when the problem says so
  const void* output_gradient = nullptr;
  void* result = nullptr;
  const void* scale = nullptr;
  const void* bias = nullptr;
  const void* residual = nullptr;    ///< may be the result itself
  void* workspace = nullptr;         ///< workspace_bytes(), 64-byte aligned
  const ResultLoop* loop = nullptr;  ///< forward only, where takes_loop(): rows are positions, columns channels
};

using Convolution = Prepared<ConvolutionArguments>;

/// Chooses and prepares the code for a problem. Throws ValueError for a malformed problem, and DeviceError when
/// `choice` demands an implementation that cannot do it.
Convolution prepare_convolution(const ConvolutionProblem& problem, const KernelChoice& choice = {});

}  // namespace tyto::cpu
