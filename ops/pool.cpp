// SPDX-License-Identifier: MIT
// Pooling and resizing over the spatial axes, with their gradients as operators.
#include <tuple>

#include "core/graph/op_ids.hpp"
#include "ops/samples.hpp"
#include "ops/window.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

Shape pooled(std::string_view op, const WindowAttributes& window, const Shape& x) {
  check_image(op, x);
  return with_spatial(x[0], window_sizes(op, spatial(x), window), x.back());
}

// Kernels have two spatial axes.
Shape upsampled(std::string_view op, const WindowAttributes& window, const Shape& x) {
  check_image(op, x);
  if (x.rank() != 4) throw_error<ShapeError>(op, ": (batch, height, width, channels) are needed, not shape ", x);
  const IntList& scale = window.window;
  if (scale.size() + 2 != x.size()) {
    throw_error<ShapeError>(op, ": ", scale.size(), " factors for the spatial axes of shape ", x);
  }
  Shape shape = x;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    if (scale[i] < 1) throw_error<ValueError>(op, ": the factor ", scale[i], " is below 1");
    shape[i + 1] = checked_product(shape[i + 1], scale[i]);
  }
  return shape;
}

// The second operand of max_pool_pick lies beside the first.
template <OpId id>
std::vector<TensorType> infer_pool(const Attributes& attributes, std::span<const TensorType> inputs) {
  if (inputs.size() == 2) {
    check_same_type("max_pool_pick", inputs[0], inputs[1]);
    if (inputs[0].shape != inputs[1].shape) {
      throw_error<ShapeError>("max_pool_pick: shapes ", inputs[0].shape, " and ", inputs[1].shape, " differ");
    }
  }
  return one(inputs[0].dtype, pooled(definition(id).name, get<WindowAttributes>(attributes), inputs[0].shape));
}

std::vector<TensorType> infer_upsample(const Attributes& attributes, std::span<const TensorType> inputs) {
  return one(inputs[0].dtype, upsampled("upsample", get<WindowAttributes>(attributes), inputs[0].shape));
}

// A gradient has the shape stated among the attributes, from which the forward operator makes the last operand's.
template <Shape (*forward)(std::string_view, const WindowAttributes&, const Shape&)>
std::vector<TensorType> infer_stated(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& window = get<WindowAttributes>(attributes);
  const Shape expected = forward("gradient of a window operator", window, window.shape);
  const bool fits = inputs.back().shape == expected && (inputs.size() == 1 || inputs[0].shape == window.shape);
  if (!fits) {
    throw_error<ShapeError>("gradient of a window operator: for an input of shape ", window.shape,
                            " the gradient of the result has shape ", expected, ", not ", inputs.back().shape);
  }
  check_same_type("gradient of a window operator", inputs[0], inputs.back());
  return one(inputs[0].dtype, window.shape);
}

std::vector<Value> max_pool_rule(const GradientContext& c) {
  return {emit(OpId::max_pool_gradient, shaped(c.attributes, c.inputs[0].shape()), {c.inputs[0], c.gradients[0]})};
}

// The gradient places g at the maxima: linear in g, whose own gradient is u read at the maxima. Which elements those
// are is a constant almost everywhere: one over the count of copies is not needed, the first maximum has it all.
std::vector<Value> max_pool_gradient_rule(const GradientContext& c) {
  const T x = c.inputs[0], u = c.gradients[0];
  if (!c.needed[1]) return {Value(), Value()};
  return {Value(), emit(OpId::max_pool_pick, shaped(c.attributes, {}), {x, u})};
}

std::vector<Value> max_pool_pick_rule(const GradientContext& c) {
  if (!c.needed[1]) return {Value(), Value()};
  return {Value(),
          emit(OpId::max_pool_gradient, shaped(c.attributes, c.inputs[0].shape()), {c.inputs[0], c.gradients[0]})};
}

// The forward operator and its gradient are linear and each other's transposes.
template <OpId backward>
std::vector<Value> linear_rule(const GradientContext& c) {
  return {emit(backward, shaped(c.attributes, c.inputs[0].shape()), {c.gradients[0]})};
}
template <OpId forward>
std::vector<Value> transposed_rule(const GradientContext& c) {
  return {emit(forward, shaped(c.attributes, {}), {c.gradients[0]})};
}

OpDef row(OpId id, std::string_view doc, int inputs, std::uint32_t flags, Inference infer, GradientRule gradient,
          Sample sample) {
  OpDef def;
  def.id = id;
  def.doc = doc;
  def.min_inputs = def.max_inputs = inputs;
  def.traits = traits(flags);
  def.infer = infer;
  def.gradient = gradient;
  def.sample = sample;
  return def;
}

}  // namespace

std::span<const OpDef> pool_operators() {
  static const OpDef rows[] = {
      row(OpId::max_pool, "Largest element of each window.", 1, 0, infer_pool<OpId::max_pool>, max_pool_rule,
          [](DType t) -> Value { return max_pool(samples::picture(t), 2); }),
      row(OpId::max_pool_gradient, "Gradient of max_pool.", 2, 0, infer_stated<pooled>, max_pool_gradient_rule,
          [](DType t) -> Value {
            return samples::gradient([](const samples::T& x) { return max_pool(x, 2); }, samples::picture(t));
          }),
      row(OpId::max_pool_pick, "Elements of the second input where the first has its window's largest.", 2, 0,
          infer_pool<OpId::max_pool_pick>, max_pool_pick_rule,
          [](DType t) -> Value {
            return samples::gradient(
                [](const samples::T& x) {
                  return square(samples::gradient([](const samples::T& y) { return square(max_pool(y, 2)); }, x));
                },
                samples::picture(t));
          }),
      row(OpId::average_pool, "Mean of each window.", 1, Traits::linear, infer_pool<OpId::average_pool>,
          linear_rule<OpId::average_pool_gradient>,
          [](DType t) -> Value { return average_pool(samples::picture(t), 2); }),
      row(OpId::average_pool_gradient, "Gradient of average_pool.", 1, Traits::linear, infer_stated<pooled>,
          transposed_rule<OpId::average_pool>,
          [](DType t) -> Value {
            return samples::gradient([](const samples::T& x) { return average_pool(x, 2); }, samples::picture(t));
          }),
      row(OpId::upsample_nearest, "Each element repeated along the spatial axes.", 1, Traits::linear, infer_upsample,
          linear_rule<OpId::upsample_nearest_gradient>,
          [](DType t) -> Value { return upsample(samples::picture(t), 2); }),
      row(OpId::upsample_nearest_gradient, "Gradient of upsample_nearest.", 1, Traits::linear, infer_stated<upsampled>,
          transposed_rule<OpId::upsample_nearest>,
          [](DType t) -> Value {
            return samples::gradient([](const samples::T& x) { return upsample(x, 2); }, samples::picture(t));
          }),
      row(OpId::upsample_bilinear, "Spatial axes stretched with linear interpolation.", 1, Traits::linear,
          infer_upsample, linear_rule<OpId::upsample_bilinear_gradient>,
          [](DType t) -> Value { return upsample(samples::picture(t), 2, Resampling::bilinear); }),
      row(OpId::upsample_bilinear_gradient, "Gradient of upsample_bilinear.", 1, Traits::linear,
          infer_stated<upsampled>, transposed_rule<OpId::upsample_bilinear>,
          [](DType t) -> Value {
            return samples::gradient([](const samples::T& x) { return upsample(x, 2, Resampling::bilinear); },
                                     samples::picture(t));
          }),
  };
  return rows;
}

namespace {

/// Elements behind the end of axis `i` that a last window reaches, which begins before the end or in the padding
/// before.
std::int64_t beyond_the_end(std::int64_t length, std::size_t i, const WindowAttributes& a) {
  const std::int64_t padded = length + a.before[i] + a.after[i], reach = (a.window[i] - 1) * a.dilation[i] + 1;
  const std::int64_t rest = padded - reach;
  if (rest < 0 || rest % a.stride[i] == 0) return 0;
  const std::int64_t last = (rest / a.stride[i] + 1) * a.stride[i];
  return last < length + a.before[i] ? last + reach - padded : 0;
}

T pool(OpId id, const Value& input, const PerAxis& window, const PoolOptions& options) {
  const std::string_view op = definition(id).name;
  if (input.ndim() < 3 || input.ndim() > 5) {
    throw_error<ShapeError>(op, ": the input must be (batch, spatial..., channels) with 1 to 3 spatial axes, not ",
                            input.shape());
  }
  T x = id == OpId::average_pool ? as_floating(input) : cast_to(input, input.dtype());
  if (options.layout == Layout::nchw) x = transpose(x, channels_last(x.ndim()));
  const std::size_t axes = x.shape().size() - 2;
  WindowAttributes a;
  a.window = per_axis(op, "window", window, axes, 1);
  a.stride = options.stride.empty() ? a.window : per_axis(op, "stride", options.stride, axes, 1);
  a.dilation = per_axis(op, "dilation", options.dilation, axes, 1);
  a.count_padding = options.count_padding;
  resolve_padding(op, options.padding, spatial(x.shape()), a);
  if (options.ceil_mode) {
    IntList beyond(axes, 0);
    for (std::size_t i = 0; i < axes; ++i) beyond[i] = beyond_the_end(x.shape()[i + 1], i, a);
    if (a.count_padding && id == OpId::average_pool) {
      // The padding counts, what lies beyond it does not: so it becomes part of the tensor.
      IntList before(x.shape().size(), 0), after = before;
      for (std::size_t i = 0; i < axes; ++i) std::tie(before[i + 1], after[i + 1]) = std::pair(a.before[i], a.after[i]);
      x = pad(x, before, after);
      a.before = a.after = IntList(axes, 0);
      a.count_padding = false;
    }
    for (std::size_t i = 0; i < axes; ++i) a.after[i] += beyond[i];
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (a.before[i] >= (a.window[i] - 1) * a.dilation[i] + 1 || a.after[i] >= (a.window[i] - 1) * a.dilation[i] + 1) {
      throw_error<ValueError>(op, ": padding ", std::max(a.before[i], a.after[i]), " leaves windows of ", a.window[i],
                              " without an element");
    }
  }
  const T y = emit(id, std::move(a), {x});
  return options.layout == Layout::nchw ? transpose(y, channels_first(y.ndim())) : y;
}

// Means over `size` windows along one axis: what each window covers is picked side by side, padded where it is shorter
// than the longest, and added up.
T adaptive_means(const T& x, std::int64_t axis, std::int64_t size) {
  const std::int64_t length = x.shape()[static_cast<std::size_t>(axis)];
  const auto first = [&](std::int64_t i) { return i * length / size; };
  const auto end = [&](std::int64_t i) { return ((i + 1) * length + size - 1) / size; };
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < size; ++i) longest = std::max(longest, end(i) - first(i));

  const Mode mode = mode_like(x);
  const auto counting = [&](std::int64_t count) {
    return T(emit(mode, OpId::arange, RangeAttributes{{count}, DType::i64, Scalar(0), Scalar(1)}));
  };
  const T i = counting(size), place = counting(longest);
  const T begin = floor_divide(i * length, size);
  const T count = floor_divide((i + 1) * length + (size - 1), size) - begin;
  const T covered = less(place, expand_dims(count, -1));
  const T picked = take(x, minimum(expand_dims(begin, -1) + place, length - 1), axis);

  const std::size_t after = static_cast<std::size_t>(x.ndim() - axis - 1);
  Shape one_each{size}, two_each{size, longest};
  one_each.resize(1 + after, 1);
  two_each.resize(2 + after, 1);
  return sum(where(reshape(covered, two_each), picked, 0), axis + 1) / cast_to(reshape(count, one_each), x.dtype());
}

T adaptive_pool(const Value& input, const PerAxis& wanted, Layout layout) {
  constexpr std::string_view op = "adaptive_average_pool";
  check_image(op, input.shape());
  const std::size_t axes = input.shape().size() - 2, first = layout == Layout::nhwc ? 1 : 2;
  const IntList size = per_axis(op, "size", wanted, axes, 1);
  const auto pooled = [&](const T& wide) { return adaptive_pool(wide, wanted, layout); };
  if (const auto found = in_f32(pooled, T(input))) return *found;
  T x = as_floating(input);
  // Windows that divide an axis are a view of it, and one mean takes those of all axes.
  Shape cut;
  IntList within;
  for (std::size_t i = 0; i < input.shape().size(); ++i) {
    const std::int64_t length = input.shape()[i];
    const bool in_space = i >= first && i < first + axes;
    if (in_space && length == 0)
      throw_error<ShapeError>(op, ": no elements along axis ", i, " of shape ", input.shape());
    const std::int64_t results = in_space ? size[i - first] : length;
    const bool divided = results != length && length % results == 0;
    cut.push_back(divided ? results : length);
    if (!divided) continue;
    within.push_back(static_cast<std::int64_t>(cut.size()));
    cut.push_back(length / results);
  }
  if (!within.empty()) x = mean(reshape(x, cut), within);
  for (std::size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::int64_t>(first + i);
    if (x.shape()[first + i] != size[i]) x = adaptive_means(x, axis, size[i]);
  }
  return x;
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> max_pool(const Tensor<M>& x, const PerAxis& window, const PoolOptions& options) {
  core::require("max_pool", x);
  return Value(core::pool(core::OpId::max_pool, core::resolve(x), window, options));
}
template <class M>
Tensor<M> average_pool(const Tensor<M>& x, const PerAxis& window, const PoolOptions& options) {
  core::require("average_pool", x);
  return Value(core::pool(core::OpId::average_pool, core::resolve(x), window, options));
}
template <class M>
Tensor<M> global_average_pool(const Tensor<M>& x, KeepDims keepdims, Layout layout) {
  TYTO_ONCE(global_average_pool, x, keepdims, layout);
  core::require("global_average_pool", x);
  if (x.ndim() < 3) core::throw_error<ShapeError>("global_average_pool: no spatial axes in shape ", x.shape());
  IntList axes;
  const std::int64_t first = layout == Layout::nhwc ? 1 : 2;
  for (std::int64_t i = first; i < first + x.ndim() - 2; ++i) axes.push_back(i);
  return mean(x, axes, keepdims);
}
template <class M>
Tensor<M> adaptive_average_pool(const Tensor<M>& x, const PerAxis& size, Layout layout) {
  core::require("adaptive_average_pool", x);
  return Value(core::adaptive_pool(core::resolve(x), size, layout));
}
template <class M>
Tensor<M> upsample(const Tensor<M>& x, const PerAxis& scale, Resampling how, Layout layout) {
  TYTO_ONCE(upsample, x, scale, how, layout);
  core::require("upsample", x);
  if (x.ndim() < 3 || (how == Resampling::bilinear && x.ndim() != 4)) {
    core::throw_error<ShapeError>("upsample: the input must be (batch, spatial..., channels)",
                                  how == Resampling::bilinear ? " with 2 spatial axes, not " : ", not ", x.shape());
  }
  if (layout == Layout::nchw) {
    const Tensor<M> y = upsample(transpose(x, core::channels_last(x.ndim())), scale, how);
    return transpose(y, core::channels_first(y.ndim()));
  }
  const IntList factors = core::per_axis("upsample", "scale", scale, x.shape().size() - 2, 1);
  if (x.ndim() != 4) {
    Tensor<M> out = x;
    for (std::size_t i = 0; i < factors.size(); ++i) out = repeat(out, factors[i], static_cast<std::int64_t>(i) + 1);
    return out;
  }
  core::WindowAttributes a;
  a.window = factors;
  return core::emit(how == Resampling::nearest ? core::OpId::upsample_nearest : core::OpId::upsample_bilinear,
                    std::move(a), {how == Resampling::bilinear ? core::as_floating(x) : x.value()});
}

TYTO_INSTANTIATE(max_pool)
TYTO_INSTANTIATE(average_pool)
TYTO_INSTANTIATE(global_average_pool)
TYTO_INSTANTIATE(adaptive_average_pool)
TYTO_INSTANTIATE(upsample)

}  // namespace TYTO_API
