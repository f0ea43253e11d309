// SPDX-License-Identifier: MIT
// Checks of operands for every operator: that they are defined, and the current version of states.
#include "core/graph/op_ids.hpp"
#include "core/graph/view_now.hpp"
#include "ops/define.hpp"

namespace tyto::core {

void require(std::string_view function, const Value& operand) {
  if (!operand) throw_error<GraphError>(function, ": an operand is ", empty_tensor);
}

Value given(std::string_view op, const Value& operand) {
  require(op, operand);
  return resolve(operand);
}

Mode mode_like(const Value& value) { return operand(value).node()->mode(); }

Value arange_like(const Value& value, std::int64_t count, DType dtype, std::int64_t start, std::int64_t step) {
  return emit(mode_like(value), OpId::arange, RangeAttributes{{count}, dtype, start, step});
}

Value full_like(const Value& value, const Shape& shape, const Scalar& number, DType dtype) {
  return emit(mode_like(value), OpId::fill, RangeAttributes{shape, dtype, number, 0});
}

bool has_single_lines(const Value& x, int axis) {
  return x.shape()[static_cast<std::size_t>(axis)] == 1 && !is_complex(x.dtype());
}

Value part_along(const Value& x, std::size_t axis, std::int64_t start, std::int64_t count) {
  if (const Array* array = contents_now(x)) {
    View view = array->view;
    view.shape[axis] = count;
    if (element_count(view.shape) != 0) view.offset += start * view.strides[axis];
    return viewed_now(*array, std::move(view));
  }
  SliceAttributes part{IntList(x.shape().size(), 0), x.shape(), IntList(x.shape().size(), 1)};
  part.start[axis] = count == 0 ? 0 : start;
  part.count[axis] = count;
  return emit(OpId::slice, part, {x});
}

std::vector<Value> in_f32(GradientRule rule, const GradientContext& context) {
  FloatingTypes types;
  for (const Value& gradient : context.gradients) types.add(gradient);
  if (!types.any_half()) return rule(context);
  const auto wide = [](std::span<const Value> given) {
    return with_tensors(std::vector<Value>(given.begin(), given.end()), widened);
  };
  const std::vector<Value> inputs = wide(context.inputs), results = wide(context.results),
                           gradients = wide(context.gradients);
  std::vector<Value> found =
      rule({context.attributes, inputs, results, gradients, context.needed, context.so_far, context.included});
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = narrowed(found[i], context.inputs[i].dtype());
  return found;
}

std::int64_t checked_sum(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw_error<ShapeError>(op, ": a length of ", a, " + ", b, " is too large");
  return sum;
}

}  // namespace tyto::core
