// SPDX-License-Identifier: MIT
// Masks of objects: their boxes, their overlap, masks pasted into pictures; and average precision of detections.
#include <algorithm>
#include <limits>

#include "nn/box_parts.hpp"
#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/flow.hpp"
#include "tyto/indexing.hpp"
#include "tyto/nn/boxes.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {
namespace detail {

namespace {

using T = Tensor<Any>;

void check_masks(const char* function, const T& masks, std::int64_t axes) {
  if (masks.ndim() < axes) {
    core::throw_error<ShapeError>(function, ": masks (..., ", axes > 2 ? "count, " : "",
                                  "height, width) are needed, not ", masks.shape());
  }
}

/// 0, 1, ... as numbers.
T counted(std::int64_t count, DType type, double first = 0) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(first + static_cast<double>(i));
  return cast(T::from(numbers, {count}), type);
}

/// How much each of `elements` counts at each of `pixels`, (..., pixels, elements), when they are stretched from `low`
/// to `high`.
T stretched(const T& low, const T& high, std::int64_t pixels, std::int64_t elements) {
  const T length = expand_dims(high - low, -1);
  const T there = cast(greater(length, 0.0), low.dtype());
  const T place = (counted(pixels, low.dtype(), 0.5) - expand_dims(low, -1)) / where(there > 0.0, length, 1.0) *
                  static_cast<double>(elements);
  const T distance = abs(expand_dims(place, -1) - counted(elements, low.dtype(), 0.5));
  return maximum(1.0 - distance, 0.0) * expand_dims(there, -1);
}

/// The fraction of each pixel that the mask covers, with rows and columns as one axis; refuses other numbers.
T flattened_masks(const char* function, const T& masks) {
  const std::size_t rank = masks.shape().size();
  Shape shape(std::span(masks.shape().data(), rank - 1));
  shape[rank - 2] *= masks.shape().back();
  if (!is_floating(masks.dtype())) return reshape(cast(not_equal(masks, 0), DType::f32), shape);
  const T fractions = greater_equal(masks, 0.0) && less_equal(masks, 1.0);
  return reshape(refuse_where(function, masks, !fractions,
                              "elements of the masks are not fractions from 0 to 1; masks != 0 makes truths of them"),
                 shape);
}

}  // namespace

T mask_boxes(const T& masks) {
  check_masks("mask_boxes", masks, 2);
  if (masks.shape().back() == 0 || masks.shape()[masks.shape().size() - 2] == 0) {
    core::throw_error<ShapeError>("mask_boxes: masks of shape ", masks.shape(), " have no pixels");
  }
  const T there = not_equal(masks, 0);
  std::vector<T> low, high;
  for (const std::int64_t across : {-2, -1}) {  // columns, which x counts, then rows
    const T line = any(there, across);
    const std::int64_t length = line.shape().back();
    const T number = counted(length, DType::f32);
    const T last = max(where(line, number + 1.0, 0.0), -1);
    low.push_back(minimum(min(where(line, number, static_cast<double>(length)), -1), last));
    high.push_back(last);
  }
  return stack<Any>({low[0], low[1], high[0], high[1]}, -1);
}

T mask_iou(const T& a, const T& b) {
  check_masks("mask_iou", a, 3);
  check_masks("mask_iou", b, 3);
  if (const auto found = core::in_f32(&mask_iou, a, b)) return *found;
  const T each = flattened_masks("mask_iou", a), other = flattened_masks("mask_iou", b);
  const T both = matmul(each, swapaxes(other, -1, -2));
  return part_of(both, sum(each, -1, true), expand_dims(sum(other, -1), -2));
}

T paste_masks(const T& masks, const T& boxes, std::int64_t height, std::int64_t width) {
  check_masks("paste_masks", masks, 2);
  check_boxes("paste_masks", boxes, 1);
  check_floating("paste_masks", masks);
  if (height < 1 || width < 1) core::throw_error<ValueError>("paste_masks: a picture of ", height, " x ", width);
  if (const auto found = core::in_f32(&paste_masks, masks, boxes, height, width)) return *found;
  const std::int64_t rows = masks.shape()[masks.shape().size() - 2], columns = masks.shape().back();
  const T down = stretched(boxes(ellipsis, 1), boxes(ellipsis, 3), height, rows);
  const T right = stretched(boxes(ellipsis, 0), boxes(ellipsis, 2), width, columns);
  return matmul(matmul(down, masks), swapaxes(right, -1, -2));
}

T match_detections(const T& given, const std::vector<double>& thresholds) {
  check_floating("match_detections", given);
  if (given.ndim() < 2) {
    core::throw_error<ShapeError>("match_detections: the overlap (..., detections, objects) is needed, not ",
                                  given.shape());
  }
  const T iou = refuse_nan("match_detections", "iou", given);
  // (thresholds, ..., 1), and with all detections or objects in place of 1.
  const auto count = static_cast<std::int64_t>(thresholds.size());
  const std::int64_t objects = iou.shape().back();
  const auto rank = static_cast<std::size_t>(iou.ndim());
  Shape shape(rank, count);
  for (std::size_t i = 1; i < rank; ++i) shape[i] = iou.shape()[i - 1];
  if (iou.size() == 0 || count == 0) return T::zeros(shape, DType::boolean);
  Shape of_threshold(rank, 1);
  of_threshold[0] = count;
  std::vector<double> at_least = thresholds;
  for (double& threshold : at_least) threshold = std::min(threshold, 1 - 1e-10);  // pycocotools' 1
  const T least = reshape(cast(T::from(at_least, {count}), iou.dtype()), of_threshold);
  shape[rank - 1] = objects;
  const auto [left, right] = scan(
      [&](const T& open, const T& row) {
        const T overlap = where(open, row, -std::numeric_limits<double>::infinity());
        const T hit = greater_equal(max(overlap, -1, true), least);
        const T taken = hit && equal(expand_dims(argmax(overlap, -1), -1), counted(objects, DType::i64));
        return std::pair(open && !taken, squeeze(hit, -1));
      },
      T::ones(shape, DType::boolean), moveaxis(flip(iou, -1), -2, 0));  // the last of equal ones comes first
  return moveaxis(right, 0, -1);
}

T average_precision(const T& given, const T& right, const T& objects) {
  check_floating("average_precision", given);
  if (given.ndim() != 1 || right.ndim() < 1 || right.shape().back() != given.shape()[0]) {
    core::throw_error<ShapeError>(
        "average_precision: scores (detections,) and right (..., detections) are needed, not ", given.shape(), " and ",
        right.shape());
  }
  if (const auto found = core::in_f32(&average_precision, given, right, objects)) return *found;
  const T scores = refuse_nan("average_precision", "scores", given);
  constexpr std::int64_t points = 101;
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  const T there = greater(scores, -std::numeric_limits<double>::infinity());
  const T order = argsort(scores, 0, true);
  const T counts = take(there, order, 0);
  const T found = cast(take(not_equal(right, 0), order, -1) && counts, DType::i64);
  const T hits = cumsum(found, -1), rank = maximum(cumsum(cast(counts, DType::i64), 0), 1);
  const T precision = cast(hits, scores.dtype()) / cast(rank, scores.dtype());
  // The recall hits / objects is at least i / 100, in integers.
  const T least =
      expand_dims(counted(points, DType::i64), -1) * expand_dims(expand_dims(cast(objects, DType::i64), -1), -1);
  const T reached = greater_equal(expand_dims(hits, -2) * (points - 1), least);
  const T best = scores.shape()[0] == 0 ? sum(where(reached, expand_dims(precision, -2), 0.0), -1)
                                        : max(where(reached, expand_dims(precision, -2), 0.0), -1);
  return where(greater(objects, 0), mean(best, -1), nothing);
}

}  // namespace detail
}  // namespace nn
}  // namespace TYTO_API
