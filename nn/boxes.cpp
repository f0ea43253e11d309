// SPDX-License-Identifier: MIT
// Boxes of objects: their overlap, their coding, anchors, and which object each of them is trained for.
#include "tyto/nn/boxes.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "nn/box_parts.hpp"
#include "nn/layer_parts.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {
namespace detail {

namespace {

using T = Tensor<Any>;

/// Centres and lengths along both axes, (..., 2).
struct Placed {
  T centre, length;
};
Placed placed(const T& boxes) {
  const T low = boxes(ellipsis, slice(0, 2)), high = boxes(ellipsis, slice(2, 4));
  return {(low + high) * 0.5, high - low};
}

/// The divisor of lengths along an axis, so that areas neither overflow nor vanish: 1 where they do not do so by
/// themselves, which leaves overlaps of ordinary boxes exact.
T unit_of(const T& length, const T& other) {
  constexpr double long_side = 1e15, short_side = 1e-15;
  const T longer = maximum(length, other);
  const double most = longer.dtype() == DType::f64 ? std::numeric_limits<double>::max()
                                                   : static_cast<double>(std::numeric_limits<float>::max());
  const T beyond = greater(longer, long_side) || (greater(longer, 0.0) && less(longer, short_side));
  return stop_gradient(where(beyond, minimum(longer, most), 1.0));  // which no overlap depends on
}

T weights_of(const BoxCoding& coding, std::size_t first, DType type) {
  return cast(T::from(std::vector<double>{coding.weights[first], coding.weights[first + 1]}, {2}), type);
}

void check_above_0(const char* what, const std::vector<double>& numbers) {
  for (const double number : numbers) {
    if (!(number > 0) || std::isinf(number)) {
      core::throw_error<ValueError>("anchors: the ", what, " ", number, " is not a finite number above 0");
    }
  }
}

}  // namespace

T box_iou(const T& a, const T& b) {
  check_boxes("box_iou", a, 2);
  check_boxes("box_iou", b, 2);
  if (const auto found = core::in_f32(&box_iou, a, b)) return *found;
  const T each = expand_dims(a, -2), other = expand_dims(b, -3);
  T both, areas[2];
  for (const int axis : {0, 1}) {
    const T low = each(ellipsis, axis), high = each(ellipsis, axis + 2);
    const T other_low = other(ellipsis, axis), other_high = other(ellipsis, axis + 2);
    const T shared = maximum(minimum(high, other_high) - maximum(low, other_low), 0.0);
    const T unit = unit_of(high - low, other_high - other_low);
    const auto times = [&](const T& area, const T& length) {
      return axis == 0 ? length / unit : area * (length / unit);
    };
    both = times(both, shared);
    areas[0] = times(areas[0], high - low);
    areas[1] = times(areas[1], other_high - other_low);
  }
  return part_of(both, areas[0], areas[1]);
}

T encode_boxes(const T& boxes, const T& from, const BoxCoding& coding) {
  check_boxes("encode_boxes", boxes, 1);
  check_boxes("encode_boxes", from, 1);
  if (const auto found = core::in_f32(&encode_boxes, boxes, from, coding)) return *found;
  const auto [centre, length] = placed(boxes);
  const auto [from_centre, from_length] = placed(from);
  const T unit = maximum(from_length, coding.smallest);
  return concat<Any>({weights_of(coding, 0, boxes.dtype()) * ((centre - from_centre) / unit),
                      weights_of(coding, 2, boxes.dtype()) * log(maximum(length, coding.smallest) / unit)},
                     -1);
}

T decode_boxes(const T& offsets, const T& from, const BoxCoding& coding) {
  check_boxes("decode_boxes", offsets, 1);
  check_boxes("decode_boxes", from, 1);
  if (const auto found = core::in_f32(&decode_boxes, offsets, from, coding)) return *found;
  const auto [centre, length] = placed(from);
  const T shift = offsets(ellipsis, slice(0, 2)) / weights_of(coding, 0, offsets.dtype());
  const T growth = offsets(ellipsis, slice(2, 4)) / weights_of(coding, 2, offsets.dtype());
  const T middle = shift * length + centre, half = exp(minimum(growth, coding.largest)) * length * 0.5;
  return concat<Any>({middle - half, middle + half}, -1);
}

T clip_boxes(const T& boxes, std::int64_t height, std::int64_t width) {
  check_boxes("clip_boxes", boxes, 1);
  if (const auto found = core::in_f32(&clip_boxes, boxes, height, width)) return *found;
  const auto x = static_cast<double>(width), y = static_cast<double>(height);
  return minimum(maximum(boxes, 0.0), cast(T::from(std::vector<double>{x, y, x, y}, {4}), boxes.dtype()));
}

HostArray anchors(std::int64_t height, std::int64_t width, const AnchorOptions& o) {
  if (o.strides.size() != o.sizes.size()) {
    core::throw_error<ValueError>("anchors: ", o.sizes.size(), " sizes for ", o.strides.size(), " strides");
  }
  if (height < 1 || width < 1) core::throw_error<ValueError>("anchors: a picture of ", height, " x ", width, " pixels");
  check_above_0("size", o.sizes);
  check_above_0("ratio", o.ratios);
  if (!std::isfinite(o.offset)) core::throw_error<ValueError>("anchors: the offset ", o.offset, " is not finite");
  std::vector<float> numbers;
  for (std::size_t level = 0; level < o.strides.size(); ++level) {
    const std::int64_t stride = o.strides[level];
    if (stride < 1) core::throw_error<ValueError>("anchors: the stride ", stride, " is not above 0");
    for (std::int64_t row = 0; row * stride < height; ++row) {
      for (std::int64_t column = 0; column * stride < width; ++column) {
        const double x = (static_cast<double>(column) + o.offset) * static_cast<double>(stride);
        const double y = (static_cast<double>(row) + o.offset) * static_cast<double>(stride);
        for (const double ratio : o.ratios) {
          const double half_width = o.sizes[level] / std::sqrt(ratio) / 2,
                       half_height = o.sizes[level] * std::sqrt(ratio) / 2;
          for (const double side : {x - half_width, y - half_height, x + half_width, y + half_height}) {
            numbers.push_back(static_cast<float>(side));
          }
        }
      }
    }
  }
  HostArray array{DType::f32, {static_cast<std::int64_t>(numbers.size()) / 4, 4}, {}};
  array.bytes.resize(numbers.size() * sizeof(float));
  std::memcpy(array.bytes.data(), numbers.data(), array.bytes.size());
  return array;
}

Assignment<Any> assign_boxes(const T& given, const AssignOptions& o) {
  check_floating("assign_boxes", given);
  if (given.ndim() < 2 || given.shape().back() == 0) {
    core::throw_error<ShapeError>(
        "assign_boxes: the overlap (..., boxes, objects) of at least one object is needed, not ", given.shape());
  }
  if (!(o.negative <= o.positive)) {
    core::throw_error<ValueError>("assign_boxes: negative = ", o.negative,
                                  " must not be above positive = ", o.positive);
  }
  const T iou = refuse_nan("assign_boxes", "iou", given), most = max(iou, -1);
  T positive = greater_equal(most, o.positive);
  if (o.best && iou.size() > 0) {
    // Ties included; an object that nothing overlaps is none.
    positive = positive || any(equal(iou, max(iou, -2, true)) && greater(iou, 0.0), -1);
  }
  return {argmax(iou, -1), positive, less(most, o.negative) && !positive};
}

}  // namespace detail
}  // namespace nn
}  // namespace TYTO_API
