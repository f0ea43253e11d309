// SPDX-License-Identifier: MIT
// Views complex numbers as their parts and back, and defines functions by these views.
#include "tyto/complex.hpp"
#include "ops/samples.hpp"

#include "core/graph/op_ids.hpp"
#include "core/graph/view_now.hpp"
#include "ops/define.hpp"
#include "ops/once.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

std::vector<TensorType> infer_view_as_real(const Attributes&, std::span<const TensorType> inputs) {
  if (!is_complex(inputs[0].dtype)) {
    throw_error<TypeError>("view_as_real: complex elements are needed, not ", inputs[0].dtype);
  }
  Shape shape = inputs[0].shape;
  shape.push_back(2);
  return one(real_type(inputs[0].dtype), shape);
}

// Offsets and strides count elements, which are half as wide.
std::optional<View> view_of_parts(const Attributes&, const View& input) {
  View parts = input;
  parts.offset *= 2;
  for (std::int64_t& stride : parts.strides) stride *= 2;
  parts.shape.push_back(2);
  parts.strides.push_back(1);
  return parts;
}

std::vector<Value> view_as_real_gradient(const GradientContext& c) { return {of_parts(c.gradients[0])}; }

std::vector<TensorType> infer_view_as_complex(const Attributes&, std::span<const TensorType> inputs) {
  const auto& [dtype, shape, weak] = inputs[0];
  if (dtype != DType::f32 && dtype != DType::f64) {
    throw_error<TypeError>("view_as_complex: parts of f32 or f64 are needed, not ", dtype);
  }
  if (shape.empty() || shape.back() != 2) {
    throw_error<ShapeError>("view_as_complex: the last axis must hold real and imaginary part, shape ", shape,
                            " does not end in 2");
  }
  return one(complex_type(dtype), Shape(std::span(shape.data(), shape.size() - 1)));
}

std::optional<View> view_of_pairs(const Attributes&, const View& input) {
  View pairs = input;
  pairs.shape.pop_back();
  const std::int64_t beside = pairs.strides.back();
  pairs.strides.pop_back();
  bool whole = beside == 1 && pairs.offset % 2 == 0;
  for (std::size_t axis = 0; axis < pairs.shape.size(); ++axis) {
    whole = whole && (pairs.shape[axis] <= 1 || pairs.strides[axis] % 2 == 0);
    pairs.strides[axis] /= 2;
  }
  if (!whole) return std::nullopt;
  pairs.offset /= 2;
  return pairs;
}

std::vector<Value> view_as_complex_gradient(const GradientContext& c) { return {as_parts(c.gradients[0])}; }

}  // namespace

std::span<const OpDef> complex_operators() {
  static const OpDef rows[] = {
      {.id = OpId::view_as_real,
       .doc = "Complex numbers as pairs of real ones.",
       .traits = traits(Traits::view | Traits::linear | Traits::takes_complex),
       .infer = infer_view_as_real,
       .view = view_of_parts,
       .gradient = view_as_real_gradient,
       .sample = [](DType t) -> Value { return view_as_real(samples::line(t)); }},
      {.id = OpId::view_as_complex,
       .doc = "Pairs of real numbers as complex ones.",
       .traits = traits(Traits::view | Traits::linear | Traits::takes_complex),
       .infer = infer_view_as_complex,
       .view = view_of_pairs,
       .gradient = view_as_complex_gradient,
       .sample = [](DType t) -> Value {
         return view_as_complex(samples::T::ones({4, 2}, t));
       }},
  };
  return rows;
}

Value as_parts(const Value& value) { return emit(OpId::view_as_real, NoAttributes{}, {value}); }
Value of_parts(const Value& value) { return emit(OpId::view_as_complex, NoAttributes{}, {value}); }

namespace {

enum class Part { real, imaginary };

Value part_of(const Value& x, Part part) {
  if (const Array* array = contents_now(x)) {
    View view = array->view;
    view.offset = 2 * view.offset + (part == Part::real ? 0 : 1);
    for (std::int64_t& stride : view.strides) stride *= 2;
    return viewed_now(*array, std::move(view), real_type(array->dtype));
  }
  const Value parts = as_parts(cast_to(x, x.dtype()));
  const Value one = part_along(parts, parts.shape().size() - 1, part == Part::real ? 0 : 1, 1);
  return emit(OpId::reshape, ListAttributes{x.shape()}, {one});
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> view_as_real(const Tensor<M>& x) {
  return core::as_parts(core::given("view_as_real", x));
}

template <class M>
Tensor<M> view_as_complex(const Tensor<M>& x) {
  return core::of_parts(core::given("view_as_complex", x));
}

template <class M>
Tensor<M> complex(const Tensor<M>& re, const std::type_identity_t<Tensor<M>>& im) {
  TYTO_ONCE(complex, re, im);
  const Value operands[] = {core::as_floating(core::given("complex", re)),
                            core::as_floating(core::given("complex", im))};
  const DType type = core::common_type(operands);
  if (is_complex(type)) {
    core::throw_error<TypeError>("complex: the parts must be real, not ", re.dtype(), " and ", im.dtype());
  }
  const DType wide = real_type(complex_type(type));
  const Shape shape = core::broadcast("complex", re.shape(), im.shape());
  const auto part = [&](const Value& operand) { return broadcast_to(Tensor<M>(core::cast_to(operand, wide)), shape); };
  return core::of_parts(stack(std::vector<Tensor<M>>{part(operands[0]), part(operands[1])}, -1));
}

template <class M>
Tensor<M> polar(const Tensor<M>& size, const std::type_identity_t<Tensor<M>>& angle) {
  TYTO_ONCE(polar, size, angle);
  core::require("polar", size, angle);
  if (const auto found = core::in_f32(&polar<M>, size, angle)) return *found;
  return complex(size * cos(angle), size * sin(angle));
}

template <class M>
Tensor<M> real(const Tensor<M>& x) {
  const Value& given = core::given("real", x);
  return is_complex(given.dtype()) ? core::part_of(core::operand(given), core::Part::real) : given;
}

template <class M>
Tensor<M> imag(const Tensor<M>& x) {
  const Value& given = core::given("imag", x);
  return is_complex(given.dtype()) ? core::part_of(core::operand(given), core::Part::imaginary)
                                   : zeros_like(Tensor<M>(given)).value();
}

template <class M>
Tensor<M> angle(const Tensor<M>& x) {
  core::require("angle", x);
  return atan2(imag(x), real(x));
}

TYTO_INSTANTIATE(view_as_real)
TYTO_INSTANTIATE(view_as_complex)
TYTO_INSTANTIATE(complex)
TYTO_INSTANTIATE(polar)
TYTO_INSTANTIATE(real)
TYTO_INSTANTIATE(imag)
TYTO_INSTANTIATE(angle)

}  // namespace TYTO_API
