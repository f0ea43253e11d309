// SPDX-License-Identifier: MIT
// Maximum and average pooling over one to three axes and their gradients: prepared once, run without allocating.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tyto/dtype.hpp>

#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/products/routine.hpp"
#include "devices/cpu/products/window.hpp"

namespace tyto::cpu {

enum class PoolingKind { maximum, average };

/// Tensors (batch, axes..., channels), dense but for the pitches. Maxima are taken of every type; averages
/// and gradients of floating ones.
///
/// A maximum is NaN when any element under the window is; its gradient goes to the first greatest element, or to the
/// last NaN. A window over padding alone gives the lowest value of the type, or an average of 0.
struct PoolingProblem {
  PoolingKind kind = PoolingKind::maximum;
  bool backward = false;
  DType dtype = DType::f32;
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::vector<WindowAxis> axes;   ///< one to three, outermost first
  std::int64_t input_pitch = 0;   ///< of maxima but those of halves: elements from pixel to pixel of the input read; 0:
                                  ///< pixels lie side by side
  std::int64_t result_pitch = 0;  ///< forward only, not of halves: the same of the result written
  bool count_padding = false;     ///< averages divide by all taps of the window, not just those inside the input
};

/// Forward reads input and writes the output; backward writes the input's gradient from the output's, and for a maximum
/// finds its place in the input again.
struct PoolingArguments {
  const void* input = nullptr;
  const void* output_gradient = nullptr;
  void* result = nullptr;
  void* workspace = nullptr;  ///< workspace_bytes(), 64-byte aligned
};

using Pooling = Prepared<PoolingArguments>;

/// Throws ValueError for malformed extents and TypeError for a type that the kind does not take.
Pooling prepare_pooling(const PoolingProblem& problem, const KernelChoice& choice = {});

}  // namespace tyto::cpu
