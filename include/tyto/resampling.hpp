// SPDX-License-Identifier: MIT
// Resampling of images: resizing, sampling along a grid and in boxes; and non-maximum suppression of boxes.
#pragma once

#include "tyto/windows.hpp"

namespace tyto TYTO_API {

/// Interpolation: the nearest element, a straight line between neighbours, or a cubic through four of them.
enum class Interpolation : std::uint8_t { nearest, linear, cubic };

/// Where element i of a resized axis is read: `half_pixel` takes centres to centres, (i + 1/2) / scale - 1/2; `corners`
/// takes the first and last elements to each other; `asymmetric` is i / scale.
enum class Coordinates : std::uint8_t { half_pixel, corners, asymmetric };

/// Rounding of a position between two elements: to the nearest one with ties to the lower or to the upper one, or
/// always to the lower or to the upper one.
enum class Nearest : std::uint8_t { round_down, round_up, floor, ceil };

/// Options of `resize`.
struct ResizeOptions {
  Interpolation method = Interpolation::linear;       ///< how values between elements are found
  Coordinates coordinates = Coordinates::half_pixel;  ///< where elements lie
  Nearest nearest = Nearest::round_down;              ///< which neighbour `nearest` takes
  double cubic = -0.75;             ///< the free coefficient of the cubic: -0.75 as PyTorch and ONNX, -0.5 as Pillow
  std::vector<double> scales = {};  ///< of each spatial axis; left out: the quotient of the lengths
  Layout layout = nhwc;             ///< order of axes
};

/// x (batch, spatial..., channels) with spatial axes of the lengths `size`, one for all or one each.
///
///     const Tensor larger = resize(image, {480, 640});  // torch's interpolate(mode="bilinear")
///     const Tensor smooth = resize(image, {480, 640}, {.method = Interpolation::cubic});
template <class M>
[[nodiscard]] Tensor<M> resize(const Tensor<M>& x, const PerAxis& size, const ResizeOptions& options = {});

/// Padding of images for coordinates outside of them: zeros, the element at the edge, or the image reflected.
enum class Outside : std::uint8_t { zeros, edge, reflection };

/// Options of `grid_sample`.
struct GridSampleOptions {
  Interpolation method = Interpolation::linear;  ///< how values between elements are found
  Outside outside = Outside::zeros;              ///< what lies beyond the borders
  bool corners = false;  ///< whether -1 and 1 are the centres of the outer elements, or the image's edges
  Layout layout = nhwc;  ///< order of axes
};

/// x (batch, spatial..., channels) read at `grid` (batch, places..., as many numbers as spatial axes): the last axis of
/// the grid holds coordinates from -1 to 1, that of the last spatial axis first, as PyTorch's grid_sample.
template <class M>
Tensor<M> grid_sample(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& grid,
                      const GridSampleOptions& options = {});

/// Options of `roi_align`.
struct RoiAlignOptions {
  IntList size = {1, 1};            ///< of what is cut out of each box
  double scale = 1;                 ///< of boxes to elements of x
  std::int64_t samples = 2;         ///< along each axis of each element of the result
  bool aligned = true;              ///< whether centres of elements lie at halves
  bool maximum = false;             ///< the largest of the samples, not their mean
  Layout layout = nhwc;             ///< order of axes
  std::vector<double> scales = {};  ///< of boxes to elements of each level, where x is a pyramid
};

/// Crops of the boxes (count, 4: x1, y1, x2, y2) from the images `x` (batch, height, width, channels) that `images`
/// numbers, sampled evenly: (count, size..., channels).
template <class M>
Tensor<M> roi_align(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& boxes,
                    const std::type_identity_t<Tensor<M>>& images, const RoiAlignOptions& options = {});
/// The same in images of several sizes: box i is cut out of image `images[i]` of `pyramid[levels[i]]` alone, whose
/// elements are `options.scales[levels[i]]` times as many.
template <class M>
Tensor<M> roi_align(const std::vector<Tensor<M>>& pyramid, const std::type_identity_t<Tensor<M>>& boxes,
                    const std::type_identity_t<Tensor<M>>& images, const std::type_identity_t<Tensor<M>>& levels,
                    const RoiAlignOptions& options);

/// Options of `nms`.
struct NmsOptions {
  std::int64_t count = 0;  ///< how many boxes are kept at most, and the length of the result; 0: all boxes
  double overlap = 0.5;    ///< boxes that share more than this part of what both cover are the same one
  double score = -1e300;   ///< boxes must have a higher score
};
/// Result of `nms`.
template <class M>
struct Kept {
  Tensor<M> indices;  ///< best first, -1 behind the last one
  Tensor<M> count;    ///< how many were kept
};
/// Non-maximum suppression: the boxes (..., count, 4: x1, y1, x2, y2) that overlap no better one too much, in each of a
/// batch by itself. The result has a fixed size, so it works in both modes.
template <class M>
Kept<M> nms(const Tensor<M>& boxes, const std::type_identity_t<Tensor<M>>& scores, const NmsOptions& options = {});

}  // namespace TYTO_API
