// SPDX-License-Identifier: MIT
// Boxes (x1, y1, x2, y2) and masks of objects in pictures: overlap, coding, anchors, and which box goes with which.
#pragma once

#include <array>
#include <vector>

#include "tyto/host_array.hpp"
#include "tyto/nn/modes.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Encoding of a box by its offsets from another one: (dx, dy) of the centres in widths and heights, and logarithms of
/// what width and height are multiplied by.
struct BoxCoding {
  std::array<double, 4> weights = {1, 1, 1, 1};  ///< what offsets are multiplied by
  double largest = 4.135166556742356;            ///< no logarithm counts for more when decoded: log(1000 / 16)
  double smallest = 1e-6;                        ///< shorter sides count as this long when encoded
};

/// Options of `anchors`, as many strides as sizes: a level of the pyramid each.
struct AnchorOptions {
  std::vector<std::int64_t> strides = {4, 8, 16, 32, 64};  ///< pixels from one place of a level to the next
  std::vector<double> sizes = {32, 64, 128, 256, 512};     ///< sides of squares with the anchors' areas
  std::vector<double> ratios = {0.5, 1, 2};                ///< height over width
  double offset = 0.5;                                     ///< where in its place an anchor's centre lies, in strides
};

/// Options of `assign_boxes`.
struct AssignOptions {
  double positive = 0.5;  ///< boxes that overlap an object so much are its own
  double negative = 0.5;  ///< those that overlap every object less are background
  bool best = false;      ///< whether the boxes that overlap an object most are its own all the same
};
/// Result of `assign_boxes`; boxes that are neither positive nor negative do not count.
template <class M>
struct Assignment {
  Tensor<M> indices;   ///< of the object that each box overlaps most, (..., boxes)
  Tensor<M> positive;  ///< whether the box is that object's
  Tensor<M> negative;  ///< whether it is background
};

namespace detail {
Tensor<Any> box_iou(const Tensor<Any>& a, const Tensor<Any>& b);
Tensor<Any> encode_boxes(const Tensor<Any>& boxes, const Tensor<Any>& from, const BoxCoding& coding);
Tensor<Any> decode_boxes(const Tensor<Any>& offsets, const Tensor<Any>& from, const BoxCoding& coding);
Tensor<Any> clip_boxes(const Tensor<Any>& boxes, std::int64_t height, std::int64_t width);
HostArray anchors(std::int64_t height, std::int64_t width, const AnchorOptions& options);
Assignment<Any> assign_boxes(const Tensor<Any>& iou, const AssignOptions& options);
Tensor<Any> mask_boxes(const Tensor<Any>& masks);
Tensor<Any> mask_iou(const Tensor<Any>& a, const Tensor<Any>& b);
Tensor<Any> paste_masks(const Tensor<Any>& masks, const Tensor<Any>& boxes, std::int64_t height, std::int64_t width);
Tensor<Any> match_detections(const Tensor<Any>& iou, const std::vector<double>& thresholds);
Tensor<Any> average_precision(const Tensor<Any>& scores, const Tensor<Any>& right, const Tensor<Any>& objects);
}  // namespace detail

/// Intersection over union of each box of a (..., n, 4) with each of b (..., m, 4): (..., n, m). 0 for boxes without
/// area.
template <class M>
Tensor<M> box_iou(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  return detail::with_mode<M>(detail::box_iou(detail::modeless(a), detail::modeless(b)));
}
/// The offsets of boxes (..., 4) from others, as Faster R-CNN learns them.
template <class M>
Tensor<M> encode_boxes(const Tensor<M>& boxes, const std::type_identity_t<Tensor<M>>& from,
                       const BoxCoding& coding = {}) {
  return detail::with_mode<M>(detail::encode_boxes(detail::modeless(boxes), detail::modeless(from), coding));
}
/// The boxes that have such offsets (..., 4) from others.
template <class M>
Tensor<M> decode_boxes(const Tensor<M>& offsets, const std::type_identity_t<Tensor<M>>& from,
                       const BoxCoding& coding = {}) {
  return detail::with_mode<M>(detail::decode_boxes(detail::modeless(offsets), detail::modeless(from), coding));
}
/// Boxes (..., 4) clipped to a picture of this size.
template <class M>
Tensor<M> clip_boxes(const Tensor<M>& boxes, std::int64_t height, std::int64_t width) {
  return detail::with_mode<M>(detail::clip_boxes(detail::modeless(boxes), height, width));
}
/// Anchors: the boxes from which objects of a picture of this size are predicted, (count, 4) of f32: level by level,
/// row by row, for each place one of each ratio. A level has height / stride rows, rounded up.
///
///     const Tensor boxes = nn::anchors<Tensor>(96, 96, {.strides = {4, 8, 16}, .sizes = {12, 24, 48}});
template <class T>
T anchors(std::int64_t height, std::int64_t width, const AnchorOptions& options = {}) {
  return to_tensor<T>(detail::anchors(height, width, options));
}
/// Assigns to each box the object that it is trained for, by `iou` (..., boxes, objects), which may hold no NaN. Rows
/// that pad the objects overlap nothing and get no box.
template <class M>
Assignment<M> assign_boxes(const Tensor<M>& iou, const AssignOptions& options = {}) {
  const Assignment<Any> found = detail::assign_boxes(detail::modeless(iou), options);
  return {detail::with_mode<M>(found.indices), detail::with_mode<M>(found.positive),
          detail::with_mode<M>(found.negative)};
}

/// The smallest box round what is not 0 of each mask (..., height, width): f32 (..., 4), zeros where all is. Pixel i
/// reaches from i to i + 1.
template <class M>
Tensor<M> mask_boxes(const Tensor<M>& masks) {
  return detail::with_mode<M>(detail::mask_boxes(detail::modeless(masks)));
}
/// box_iou of masks a (..., n, height, width) with b (..., m, height, width): (..., n, m). Of truths and integers what
/// is not 0 is inside; floating-point masks are fractions of pixels, ValueError beyond 0 to 1.
template <class M>
Tensor<M> mask_iou(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  return detail::with_mode<M>(detail::mask_iou(detail::modeless(a), detail::modeless(b)));
}
/// Masks (..., rows, columns), each stretched over its box (..., 4) of an empty picture: (..., height, width). Between
/// the centres of its elements a mask is bilinear, and it fades to 0 within one element outside of them.
template <class M>
Tensor<M> paste_masks(const Tensor<M>& masks, const std::type_identity_t<Tensor<M>>& boxes, std::int64_t height,
                      std::int64_t width) {
  return detail::with_mode<M>(detail::paste_masks(detail::modeless(masks), detail::modeless(boxes), height, width));
}

/// Tells which detections are right, by `iou` (..., detections, objects), detections sorted from the best score: each
/// gets, of the objects that no better detection has, the one that it overlaps most (the last one in ties) if the
/// overlap is at least the threshold. At threshold 0 an object without overlap counts, as in pycocotools. The result is
/// (thresholds..., detections); throws ValueError for NaN.
///
///     const Tensor iou{{0.9, 0.1}, {0.8, 0.6}};
///     const Tensor right = nn::match_detections(iou, {0.5, 0.7});  // {{true, true}, {true, false}}
template <class M>
Tensor<M> match_detections(const Tensor<M>& iou, const std::vector<double>& thresholds) {
  return detail::with_mode<M>(detail::match_detections(detail::modeless(iou), thresholds));
}
/// The area under precision over recall as COCO takes it: the mean, over the recalls 0, 0.01, ... 1, of the best
/// precision at that recall or a higher one. Scores (detections,), `right` (..., detections), `objects` how many there
/// were to find, a number or (...,); NaN for 0. A score of -infinity is no detection, one of NaN a ValueError.
template <class M>
Tensor<M> average_precision(const Tensor<M>& scores, const std::type_identity_t<Tensor<M>>& right,
                            const std::type_identity_t<Tensor<M>>& objects) {
  return detail::with_mode<M>(
      detail::average_precision(detail::modeless(scores), detail::modeless(right), detail::modeless(objects)));
}

}  // namespace TYTO_API
}  // namespace tyto
