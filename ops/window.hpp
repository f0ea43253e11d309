// SPDX-License-Identifier: MIT
// Window arithmetic shared by convolution, pooling and resizing: options checked and made explicit per spatial axis.
#pragma once

#include "ops/define.hpp"
#include "tyto/windows.hpp"

namespace tyto::core {

/// A value for each of `rank` spatial axes. Throws when a list of another length, or a number below `least`, is given.
IntList per_axis(std::string_view op, std::string_view what, const IntList& given, std::size_t rank,
                 std::int64_t least);

/// Fills in before and after: what `padding` means for these sizes, windows, strides and dilations.
void resolve_padding(std::string_view op, const Padding& padding, std::span<const std::int64_t> sizes,
                     WindowAttributes& attributes);

/// Batch, one to three spatial axes, channels.
void check_image(std::string_view op, const Shape& shape);

/// The spatial axes of an image, and an image's shape put together again.
std::span<const std::int64_t> spatial(const Shape& shape);
Shape with_spatial(std::int64_t batch, const Shape& sizes, std::int64_t channels);

/// The same windows, for a result of that shape.
WindowAttributes shaped(const Attributes& attributes, const Shape& shape);

/// Result sizes of the spatial axes. The attributes are checked.
Shape window_sizes(std::string_view op, std::span<const std::int64_t> sizes, const WindowAttributes& attributes);

/// Axis order from channels-first to channels-last and back.
IntList channels_last(int rank);
IntList channels_first(int rank);

}  // namespace tyto::core
