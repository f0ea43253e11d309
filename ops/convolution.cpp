// SPDX-License-Identifier: MIT
// Convolution over (batch, spatial..., channels) and its two gradients, each bilinear, so that they differentiate in
// terms of one another to any order; transposed convolution is the input gradient with the roles exchanged.
#include "core/graph/op_ids.hpp"
#include "ops/samples.hpp"
#include "ops/window.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

// Image x, kernel w and result y fit one another; all three operators infer by it.
void check_triple(std::string_view op, const WindowAttributes& window, const Shape& x, const Shape& w, const Shape& y) {
  for (const Shape* shape : {&x, &w, &y}) check_image(op, *shape);
  bool fits = x.size() == w.size() && x.size() == y.size() && x[0] == y[0] && w.back() == y.back();
  for (std::size_t i = 0; fits && i < window.window.size(); ++i) fits = i + 2 < w.size() && window.window[i] == w[i];
  if (fits) {
    fits = y == with_spatial(x[0], window_sizes(op, spatial(x), window), w.back()) &&
           checked_product(w[w.size() - 2], window.groups) == x.back() && w.back() % window.groups == 0;
  }
  if (!fits) {
    throw_error<ShapeError>(op, ": image ", x, ", kernel ", w, " and result ", y, " do not belong together in ",
                            window.groups, " groups");
  }
}

std::vector<TensorType> infer_convolution(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& window = get<WindowAttributes>(attributes);
  const Shape& x = inputs[0].shape;
  check_same_type("convolution", inputs[0], inputs[1]);
  check_image("convolution", x);
  check_image("convolution", inputs[1].shape);
  Shape shape = with_spatial(x[0], window_sizes("convolution", spatial(x), window), inputs[1].shape.back());
  check_triple("convolution", window, x, inputs[1].shape, shape);
  return one(inputs[0].dtype, std::move(shape));
}

std::vector<TensorType> infer_input_gradient(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& window = get<WindowAttributes>(attributes);
  check_same_type("convolution_input_gradient", inputs[0], inputs[1]);
  check_triple("convolution_input_gradient", window, window.shape, inputs[1].shape, inputs[0].shape);
  return one(inputs[0].dtype, window.shape);
}

std::vector<TensorType> infer_kernel_gradient(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& window = get<WindowAttributes>(attributes);
  check_same_type("convolution_kernel_gradient", inputs[0], inputs[1]);
  check_triple("convolution_kernel_gradient", window, inputs[0].shape, window.shape, inputs[1].shape);
  return one(inputs[0].dtype, window.shape);
}

WindowAttributes unshaped(const Attributes& attributes) { return shaped(attributes, {}); }

// y = conv(x, w)
std::vector<Value> convolution_gradient(const GradientContext& c) {
  const Value &x = c.inputs[0], &w = c.inputs[1], &g = c.gradients[0];
  std::vector<Value> out(c.inputs.size());
  if (c.needed[0]) out[0] = emit(OpId::convolution_input_gradient, shaped(c.attributes, x.shape()), {g, w});
  if (c.needed[1]) out[1] = emit(OpId::convolution_kernel_gradient, shaped(c.attributes, w.shape()), {x, g});
  return out;
}

// dx = input_gradient(g, w)
std::vector<Value> input_gradient_gradient(const GradientContext& c) {
  const Value &g = c.inputs[0], &w = c.inputs[1], &u = c.gradients[0];
  return {c.needed[0] ? emit(OpId::convolution, unshaped(c.attributes), {u, w}) : Value(),
          c.needed[1] ? emit(OpId::convolution_kernel_gradient, shaped(c.attributes, w.shape()), {u, g}) : Value()};
}

// dw = kernel_gradient(x, g)
std::vector<Value> kernel_gradient_gradient(const GradientContext& c) {
  const Value &x = c.inputs[0], &g = c.inputs[1], &u = c.gradients[0];
  return {c.needed[0] ? emit(OpId::convolution_input_gradient, shaped(c.attributes, x.shape()), {g, u}) : Value(),
          c.needed[1] ? emit(OpId::convolution, unshaped(c.attributes), {x, u}) : Value()};
}

OpDef row(OpId id, std::string_view doc, Inference infer, GradientRule gradient, Sample sample) {
  OpDef def;
  def.id = id;
  def.doc = doc;
  def.min_inputs = def.max_inputs = 2;
  def.traits = traits(Traits::bilinear);
  def.infer = infer;
  def.gradient = gradient;
  def.sample = sample;
  return def;
}

}  // namespace

std::span<const OpDef> convolution_operators() {
  static const OpDef rows[] = {
      row(OpId::convolution, "Weighted sums over sliding windows.", infer_convolution, convolution_gradient,
          [](DType t) -> Value {
            return conv2d(samples::picture(t), samples::T::ones({3, 3, 2, 2}, t));
          }),
      row(OpId::convolution_input_gradient,
          "Gradient of a convolution with respect to its input; transposed convolution.", infer_input_gradient,
          input_gradient_gradient,
          [](DType t) -> Value {
            return samples::gradient(
                [&](const samples::T& x) {
                  return conv2d(x, samples::T::ones({3, 3, 2, 2}, t));
                },
                samples::picture(t));
          }),
      row(OpId::convolution_kernel_gradient, "Gradient of a convolution with respect to its kernels.",
          infer_kernel_gradient, kernel_gradient_gradient,
          [](DType t) -> Value {
            return samples::gradient([&](const samples::T& w) { return conv2d(samples::picture(t), w); },
                                     samples::T::ones({3, 3, 2, 2}, t));
          }),
  };
  return rows;
}

namespace {

using T = AnyTensor;

struct Operands {
  T x;
  T w;
};

// Common type, channels last. Kernels in channels-first layout are (out, in, window...).
Operands prepared(std::string_view op, const Value& x, const Value& w, Layout layout, std::size_t rank) {
  if (x.ndim() < 3 || x.ndim() > 5 || (rank != 0 && x.ndim() != static_cast<int>(rank) + 2)) {
    throw_error<ShapeError>(op, ": the input must be (batch, spatial..., channels) with ",
                            rank == 0 ? std::string("1 to 3") : std::to_string(rank), " spatial axes, not ", x.shape());
  }
  if (w.ndim() != x.ndim()) {
    throw_error<ShapeError>(op, ": kernels ", w.shape(), " must have as many axes as the input ", x.shape());
  }
  const Value both[] = {x, w};
  const DType type = common_type(both);
  Operands out{cast_to(x, type), cast_to(w, type)};
  if (layout == Layout::nchw) {
    out.x = transpose(out.x, channels_last(x.ndim()));
    IntList order;
    for (int i = 2; i < w.ndim(); ++i) order.push_back(i);
    order.push_back(1);
    order.push_back(0);
    out.w = transpose(out.w, order);
  }
  return out;
}

T restored(const T& y, Layout layout) { return layout == Layout::nchw ? transpose(y, channels_first(y.ndim())) : y; }

T convolve(std::string_view op, const Value& input, const Value& kernels, const ConvolutionOptions& options,
           std::size_t rank) {
  const Operands in = prepared(op, input, kernels, options.layout, rank);
  const Shape& x = in.x.shape();
  const Shape& w = in.w.shape();
  const std::size_t axes = x.size() - 2;
  WindowAttributes a;
  a.window = per_axis(op, "window", IntList(std::span<const std::int64_t>(w.data(), axes)), axes, 1);
  a.stride = per_axis(op, "stride", options.stride, axes, 1);
  a.dilation = per_axis(op, "dilation", options.dilation, axes, 1);
  a.groups = options.groups;
  if (options.groups < 1 || x.back() % options.groups != 0 || w.back() % options.groups != 0 ||
      w[axes] * options.groups != x.back()) {
    throw_error<ShapeError>(op, ": ", x.back(), " input channels in ", options.groups, " groups need kernels with ",
                            options.groups < 1 ? 0 : x.back() / options.groups, " input channels and a multiple of ",
                            options.groups, " results; given kernels ", kernels.shape(), " for input ", input.shape());
  }
  resolve_padding(op, options.padding, spatial(x), a);
  return restored(emit(OpId::convolution, std::move(a), {in.x, in.w}), options.layout);
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> convolution(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w, const ConvolutionOptions& options) {
  core::require("convolution", x, w);
  return Value(core::convolve("convolution", core::resolve(x), core::resolve(w), options, 0));
}
template <class M>
Tensor<M> conv1d(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w, const ConvolutionOptions& options) {
  core::require("conv1d", x, w);
  return Value(core::convolve("conv1d", core::resolve(x), core::resolve(w), options, 1));
}
template <class M>
Tensor<M> conv2d(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w, const ConvolutionOptions& options) {
  core::require("conv2d", x, w);
  return Value(core::convolve("conv2d", core::resolve(x), core::resolve(w), options, 2));
}
template <class M>
Tensor<M> conv3d(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w, const ConvolutionOptions& options) {
  core::require("conv3d", x, w);
  return Value(core::convolve("conv3d", core::resolve(x), core::resolve(w), options, 3));
}

// The result's size is what the convolution it transposes would have had as input:
// stride * (n - 1) + dilation * (window - 1) + 1 + output_padding - before - after.
template <class M>
Tensor<M> transposed_convolution(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w,
                                 const TransposedConvolutionOptions& options) {
  TYTO_ONCE(transposed_convolution, x, w, options);
  core::require("transposed_convolution", x, w);
  constexpr std::string_view op = "transposed_convolution";
  const core::Operands in = core::prepared(op, core::resolve(x), core::resolve(w), options.layout, 0);
  const Shape& from = in.x.shape();
  const Shape& kernels = in.w.shape();
  const std::size_t axes = from.size() - 2;
  core::WindowAttributes a;
  a.window = core::per_axis(op, "window", IntList(std::span<const std::int64_t>(kernels.data(), axes)), axes, 1);
  a.stride = core::per_axis(op, "stride", options.stride, axes, 1);
  a.dilation = core::per_axis(op, "dilation", options.dilation, axes, 1);
  a.groups = options.groups;
  if (kernels.back() != from.back() || options.groups < 1 || from.back() % options.groups != 0) {
    core::throw_error<ShapeError>(op, ": kernels ", w.shape(), " must end in the input's ", from.back(),
                                  " channels, a multiple of ", options.groups, " groups; the input is ", x.shape());
  }
  const IntList extra = core::per_axis(op, "output_padding", options.output_padding, axes, 0);
  const bool is_same = options.padding.kind() == Padding::Kind::same;
  // A step leaves less than its stride over. A larger result means more elements in x, which dilated windows may reach.
  IntList none(axes + 2, 0), beyond(axes + 2, 0), left(axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    if (extra[i] >= std::max(a.stride[i], is_same ? 1 : a.dilation[i])) {
      core::throw_error<ValueError>(op, ": output_padding ", extra, " must be below the stride ", a.stride,
                                    is_same ? "" : core::text(" or the dilation ", a.dilation));
    }
    beyond[i + (options.layout == nchw ? 2 : 1)] = extra[i] / a.stride[i];
    left[i] = extra[i] % a.stride[i];
  }
  if (beyond != none && x.size() > 0) {
    TransposedConvolutionOptions rest = options;
    rest.output_padding = left;
    return transposed_convolution(pad(x, none, beyond), w, rest);
  }
  Shape sizes;
  if (is_same) {
    for (std::size_t i = 0; i < axes; ++i) sizes.push_back(from[i + 1] * a.stride[i]);
    core::resolve_padding(op, options.padding, {sizes.data(), axes}, a);
  } else {
    core::resolve_padding(op, options.padding, core::spatial(from), a);
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t reach = a.dilation[i] * (a.window[i] - 1) + 1;
      const std::int64_t size =
          from[i + 1] == 0 ? 0 : a.stride[i] * (from[i + 1] - 1) + reach + extra[i] - a.before[i] - a.after[i];
      if (size < 0) core::throw_error<ShapeError>(op, ": padding takes more than the whole result on spatial axis ", i);
      sizes.push_back(size);
    }
  }
  a.shape = core::with_spatial(from[0], sizes, kernels[axes] * options.groups);
  return Value(
      core::restored(core::emit(core::OpId::convolution_input_gradient, std::move(a), {in.x, in.w}), options.layout));
}

TYTO_INSTANTIATE(convolution)
TYTO_INSTANTIATE(conv1d)
TYTO_INSTANTIATE(conv2d)
TYTO_INSTANTIATE(conv3d)
TYTO_INSTANTIATE(transposed_convolution)

}  // namespace TYTO_API
