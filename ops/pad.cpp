// SPDX-License-Identifier: MIT
// Elements added around a tensor: constants, the edges held, reflections, what stands at the other end.
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

std::vector<TensorType> infer_pad(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& padding = get<PadAttributes>(attributes);
  Shape shape = inputs[0].shape;
  check_entries("pad", "widths", padding.before, shape);
  check_entries("pad", "widths", padding.after, shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t before = padding.before[i], after = padding.after[i];
    if (before < 0 || after < 0) {
      throw_error<ValueError>("pad: widths ", before, " and ", after, " of axis ", i, " must not be negative");
    }
    if (padding.mode != PadMode::constant && shape[i] == 0 && (before > 0 || after > 0)) {
      throw_error<ShapeError>("pad: axis ", i, " of shape ", shape, " is empty, so there is nothing to repeat; ",
                              "only a constant can fill it");
    }
    shape[i] = checked_sum("pad", checked_sum("pad", before, shape[i]), after);
  }
  return one(inputs[0].dtype, shape);
}

/// Where each element along a padded axis is read from: held at the edges, going to and fro between them, or round.
T sources(Mode mode, PadMode pad_mode, std::int64_t before, std::int64_t length, std::int64_t after) {
  const T position =
      emit(mode, OpId::arange, RangeAttributes{{before + length + after}, DType::i64, Scalar(-before), Scalar(1)});
  const std::int64_t last = length - 1;
  if (pad_mode == PadMode::edge || last == 0) return clip(position, 0, last);
  if (pad_mode == PadMode::wrap) return remainder(position, length);
  if (pad_mode == PadMode::symmetric) {
    const T phase = remainder(position, 2 * length);
    return minimum(phase, 2 * length - 1 - phase);
  }
  return last - abs(last - remainder(position, 2 * last));
}

// Padding by repetition is reading along one axis after the other, which has its gradient from take.
std::vector<Value> lower_pad(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& padding = get<PadAttributes>(attributes);
  T x = inputs[0];
  if (padding.mode == PadMode::constant) {
    const Shape inner = x.shape();
    Shape outer = inner;
    for (std::size_t i = 0; i < outer.size(); ++i) outer[i] += padding.before[i] + padding.after[i];
    const Value filled = emit(mode_like(x), OpId::fill, RangeAttributes{outer, x.dtype(), padding.value, Scalar(0)});
    return {emit(OpId::set_slice, SliceAttributes{padding.before, inner, IntList(inner.size(), 1)}, {filled, x})};
  }
  for (std::size_t i = 0; i < padding.before.size(); ++i) {
    const std::int64_t before = padding.before[i], after = padding.after[i];
    if (before == 0 && after == 0) continue;
    x = take(x, sources(mode_like(x), padding.mode, before, x.shape()[i], after), static_cast<std::int64_t>(i));
  }
  return {x};
}

std::vector<Value> pad_gradient(const GradientContext& c) {
  const auto& padding = get<PadAttributes>(c.attributes);
  const Shape& shape = c.inputs[0].shape();
  T g = c.gradients[0];
  if (padding.mode == PadMode::constant) {
    return {emit(OpId::slice, SliceAttributes{padding.before, shape, IntList(shape.size(), 1)}, {g})};
  }
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::int64_t before = padding.before[i], after = padding.after[i];
    if (before == 0 && after == 0) continue;
    Shape inner = g.shape(), along(shape.size(), 1);
    inner[i] = shape[i];
    along[i] = before + shape[i] + after;
    const T source = reshape(sources(mode_like(g), padding.mode, before, shape[i], after), along);
    g = added_along_axis(inner, source, g, i);
  }
  return {g};
}

}  // namespace

std::span<const OpDef> pad_operators() {
  static const OpDef rows[] = {
      {.id = OpId::pad,
       .doc = "Elements added around: a constant, the edges, reflections, or the other end.",
       .traits = traits(Traits::takes_complex),
       .infer = infer_pad,
       .gradient = pad_gradient,
       .lower = lower_pad,
       .sample = [](DType t) -> Value { return pad(samples::line(t), {1}, {1}); }},
  };
  return rows;
}

namespace {

PadMode mode_of_padding(PaddingMode padding) {
  switch (padding) {
    case PaddingMode::constant: return PadMode::constant;
    case PaddingMode::edge: return PadMode::edge;
    case PaddingMode::reflect: return PadMode::reflect;
    case PaddingMode::symmetric: return PadMode::symmetric;
    case PaddingMode::wrap: return PadMode::wrap;
  }
  throw ValueError("pad: unknown mode");
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::emit;
using core::OpId;

template <class M>
Tensor<M> pad(const Tensor<M>& x, const IntList& before, const IntList& after, PaddingMode mode, const Scalar& value) {
  TYTO_ONCE(pad, x, before, after, mode, value);
  core::require("pad", x);
  core::check_holds("pad", x.dtype(), value);
  return emit(OpId::pad, core::PadAttributes{before, after, core::mode_of_padding(mode), value}, {x});
}

template <class M>
Tensor<M> pad(const Tensor<M>& x, std::int64_t width, PaddingMode mode, const Scalar& value) {
  core::require("pad", x);
  const IntList everywhere(static_cast<std::size_t>(x.ndim()), width);
  return pad(x, everywhere, everywhere, mode, value);
}

#define TYTO_INSTANTIATE_PAD(M)                                                                         \
  template Tensor<M> pad(const Tensor<M>&, const IntList&, const IntList&, PaddingMode, const Scalar&); \
  template Tensor<M> pad(const Tensor<M>&, std::int64_t, PaddingMode, const Scalar&);
TYTO_INSTANTIATE_PAD(Eager)
TYTO_INSTANTIATE_PAD(Lazy)
TYTO_INSTANTIATE_PAD(Any)
#undef TYTO_INSTANTIATE_PAD

}  // namespace TYTO_API
