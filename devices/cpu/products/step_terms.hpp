// SPDX-License-Identifier: MIT
// Converts the views and attributes of a step to matrix layouts and window axes.
#pragma once

#include <cstddef>
#include <vector>

#include "core/device/device.hpp"
#include "devices/cpu/products/matmul/matmul.hpp"
#include "devices/cpu/products/window.hpp"

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

/// Elements from one pixel of an image (batch, spatial..., channels) to the next, all of them evenly apart and each a
/// run of channels; 0 where they lie otherwise.
inline std::int64_t pixel_pitch(const core::View& image) {
  const std::size_t last = image.shape.size() - 1;
  if (image.shape[last] != 1 && image.strides[last] != 1) return 0;
  std::int64_t pitch = image.shape[last], pixels = 1;
  for (std::size_t axis = last; axis-- > 0;) {
    if (image.shape[axis] == 1) continue;
    if (pixels == 1) pitch = image.strides[axis];
    if (image.strides[axis] != pitch * pixels) return 0;
    pixels *= image.shape[axis];
  }
  return pitch < image.shape[last] ? 0 : pitch;
}

}  // namespace tyto::cpu
