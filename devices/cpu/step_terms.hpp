// A step's views and attributes in the terms of products and windows.
#pragma once

#include <cstddef>
#include <vector>

#include "devices/cpu/matmul/matmul.hpp"
#include "devices/cpu/window.hpp"
#include "engine/core/device.hpp"

namespace tyto::cpu {

/// Bytes from an operand's address to its first element.
inline std::ptrdiff_t skipped(const core::Operand& operand) {
  return static_cast<std::ptrdiff_t>(operand.view.offset) * static_cast<std::ptrdiff_t>(size_of(operand.dtype));
}

/// The last two axes as a matrix, those before them as a batch.
inline MatrixLayout layout_of(const core::View& view) {
  const std::size_t rank = view.shape.size();
  MatrixLayout layout{view.strides[rank - 2], view.strides[rank - 1], {}};
  for (std::size_t i = 0; i + 2 < rank; ++i) layout.batch_strides.push_back(view.strides[i]);
  return layout;
}

/// Axes of a window over an input of shape `shape`, (batch, spatial..., channels).
inline std::vector<WindowAxis> axes_of(const core::WindowAttributes& attributes, const Shape& shape) {
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < attributes.window.size(); ++i) {
    axes.push_back({shape[i + 1], attributes.window[i], attributes.stride[i], attributes.dilation[i],
                    attributes.before[i], attributes.after[i]});
  }
  return axes;
}

}  // namespace tyto::cpu
