// SPDX-License-Identifier: MIT
// Elements of one tensor where another has the maximum of its window: the transpose of maximum pooling's gradient.
#pragma once

#include <memory>
#include <vector>

#include <tyto/dtype.hpp>

#include "devices/cpu/products/window.hpp"

namespace tyto::cpu {

/// Dense (batch, axes..., channels) tensors of one floating-point type. The maximum of a window is the first greatest
/// element, or the last NaN, as in maximum pooling's gradient.
class MaximumPick {
 public:
  MaximumPick(DType dtype, std::int64_t batch, std::int64_t channels, const std::vector<WindowAxis>& axes);
  void run(const void* input, const void* values, void* result) const;

 private:
  template <class T>
  void pick(const T* input, const T* values, T* result) const;

  DType dtype_;
  std::int64_t batch_;
  std::int64_t channels_;
  std::array<WindowAxis, 3> axes_;
  std::shared_ptr<const AxisWindowPairs> window_pairs_;
};

}  // namespace tyto::cpu
