// SPDX-License-Identifier: MIT
// Each check throws the typed error that names the operator, what was found and what would have been right.
#include "ops/attribute_checks.hpp"

#include <cstdlib>
#include <limits>

#include "core/value/text.hpp"

namespace tyto::core {

std::size_t axis_among(std::string_view op, std::int64_t axis, const Shape& shape) {
  if (axis < 0 || axis >= shape.rank()) {
    throw_error<IndexError>(op, ": axis ", axis, " is none of those of shape ", shape);
  }
  return static_cast<std::size_t>(axis);
}

void check_axes(std::string_view op, const IntList& axes, const Shape& shape) {
  std::int64_t last = -1;
  for (const std::int64_t axis : axes) {
    (void)axis_among(op, axis, shape);
    if (axis <= last) throw_error<IndexError>(op, ": axes ", axes, " are not ascending");
    last = axis;
  }
}

void check_entries(std::string_view op, std::string_view what, const IntList& list, const Shape& shape) {
  if (list.size() != shape.size()) {
    throw_error<ShapeError>(op, ": ", list.size(), " ", what, " ", list, " for the ", shape.size(), " axes of shape ",
                            shape);
  }
}

void check_lengths(std::string_view op, const Shape& shape) {
  for (const std::int64_t length : shape) {
    if (length < 0) throw_error<ShapeError>(op, ": shape ", shape, " has a negative length");
  }
  (void)element_count(shape);
}

void check_part(std::string_view op, const SliceAttributes& part, const Shape& shape) {
  for (const IntList* list : {&part.start, &part.count, &part.step}) check_entries(op, "numbers", *list, shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t start = part.start[i];
    const std::int64_t count = part.count[i];
    const std::int64_t step = part.step[i];
    if (count == 0) continue;
    // As a division, and of numbers known to be small, so that nothing overflows; a step of the least integer never
    // fits a second element.
    const auto fits = [&] {
      if (step == 0 || start < 0 || start >= shape[i] || count < 0) return false;
      const std::int64_t room = step > 0 ? shape[i] - 1 - start : start;
      const std::int64_t size = step == std::numeric_limits<std::int64_t>::min() ? shape[i] : std::abs(step);
      return room / size >= count - 1;
    };
    if (!fits()) {
      throw_error<IndexError>(op, ": ", count, " elements from ", start, " in steps of ", step, " reach outside axis ",
                              i, " of length ", shape[i]);
    }
  }
}

void check_order(std::string_view op, const IntList& order, const Shape& shape) {
  check_entries(op, "axes", order, shape);
  IntList seen(shape.size(), 0);
  for (const std::int64_t axis : order) {
    if (++seen[axis_among(op, axis, shape)] != 1) throw_error<IndexError>(op, ": axis ", axis, " is named twice");
  }
}

void check_same_type(std::string_view op, const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype) throw_error<TypeError>(op, ": operands of types ", a.dtype, " and ", b.dtype);
}

}  // namespace tyto::core
