// SPDX-License-Identifier: MIT
// Normalisation: statistics of a batch and of all that came before, of a layer, a group, an instance.
#include "tyto/nn/normalisation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/label.hpp"
#include "core/value/text.hpp"
#include "nn/layer_parts.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/distributed.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/statistics.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

/// Mean and variance with the axes kept, and what the variance was taken of.
struct Moments {
  Tensor<Any> mean;
  Tensor<Any> centred;
  Tensor<Any> variance;
};

/// `over_all` makes a mean of this process one of all that count.
template <class OverAll>
Moments moments(const Tensor<Any>& x, const IntList& axes, const OverAll& over_all) {
  Moments of;
  of.mean = over_all(mean(x, Axes(axes), true));
  of.centred = x - of.mean;
  of.variance = over_all(mean(square(of.centred), Axes(axes), true));
  return of;
}
Moments moments(const Tensor<Any>& x, const IntList& axes) {
  return moments(x, axes, [](const Tensor<Any>& own) { return own; });
}

/// Bessel's correction: turns the variance of `count` numbers into an estimate of the population's.
double unbiased(std::int64_t count) {
  return static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(count - 1, 1));
}
/// The same of `count` numbers on each process.
Tensor<Any> unbiased_over_processes(std::int64_t count, DType dtype) {
  const Tensor<Any> all = distributed::all_reduce(Tensor<Any>::full({}, static_cast<double>(count), DType::f64));
  return cast(all / maximum(all - 1.0, 1.0), dtype);
}

Tensor<Any> normalised(const Moments& of, double epsilon) { return of.centred * rsqrt(of.variance + epsilon); }

Tensor<Any> scaled(const Tensor<Any>& y, const Tensor<Any>& weight, const Tensor<Any>& bias) {
  if (!weight.defined()) return y;
  return !bias.defined() ? y * weight : y * weight + bias;
}

/// (x - mean) / sqrt(variance + epsilon) with weight and bias, as one multiplication and one addition an element.
Tensor<Any> by_statistics(const Tensor<Any>& x, const Tensor<Any>& mean, const Tensor<Any>& variance, double epsilon,
                          const Tensor<Any>& weight, const Tensor<Any>& bias) {
  Tensor<Any> scale = rsqrt(variance + epsilon);
  if (weight.defined()) scale = scale * weight;
  const Tensor<Any> shift = !bias.defined() ? -mean * scale : bias - mean * scale;
  return x * scale + shift;
}

void check_channels_of(const std::string& layer, const Tensor<Any>& x, std::int64_t channels) {
  check_floating(layer, x);
  if (x.ndim() < 2 || x.shape().back() != channels) {
    core::throw_error<ShapeError>(layer, ": the last axis of x ", x.shape(), " must be of ", channels, " channels");
  }
}

/// Makes the weight and bias that the options ask for.
template <class Norm>
void set_parameters(Norm& norm, const Shape& shape) {
  if (norm.options.affine) norm.weight = one_parameter("weight", shape, norm.options.dtype);
  if (norm.options.affine && norm.options.bias) norm.bias = zero_parameter("bias", shape, norm.options.dtype);
}

/// Makes the parameters of each channel, and the running statistics of a layer that tracks them.
template <class Norm>
void set_channels(const char* layer, Norm& norm) {
  const auto& given = norm.options;
  if (given.channels < 1) core::throw_error<ValueError>(layer, ": channels = ", given.channels, " must be at least 1");
  if (!(given.epsilon >= 0)) core::throw_error<ValueError>(layer, ": epsilon = ", given.epsilon, " must be at least 0");
  set_parameters(norm, {given.channels});
  if constexpr (requires { norm.running_mean; }) {
    if (!given.track) return;
    const DType type = statistics_type(given.dtype);
    norm.running_mean = Tensor<Any>::persistent(Tensor<Any>::zeros({given.channels}, type), "running_mean");
    norm.running_var = Tensor<Any>::persistent(Tensor<Any>::ones({given.channels}, type), "running_var");
    norm.num_batches_tracked = Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), "num_batches_tracked");
  }
}

template <class Norm>
Members tracked_members(const Norm& norm) {
  return {{"weight", norm.weight},
          {"bias", norm.bias},
          {"running_mean", norm.running_mean, StateKind::buffer},
          {"running_var", norm.running_var, StateKind::buffer},
          {"num_batches_tracked", norm.num_batches_tracked, StateKind::buffer}};
}

/// old + share * (now - old), which the state holds from now on. No gradient flows through a statistic. A share that is
/// a number stays one, so that it takes the type of the statistic.
template <class Share>
void enter(const Tensor<Any>& state, const Tensor<Any>& now, const Share& share) {
  assign(state, (1.0 - share) * state + share * as_type(stop_gradient(now), state.dtype()));
}

/// The last axes of x by number, which must have this shape.
IntList last_axes(const char* layer, const Tensor<Any>& x, const Shape& shape) {
  check_floating(layer, x);
  const auto rank = static_cast<std::size_t>(x.ndim());
  const bool fits = rank >= shape.size() && std::equal(shape.begin(), shape.end(), x.shape().end() - shape.size());
  if (!fits) core::throw_error<ShapeError>(layer, ": the last axes of x ", x.shape(), " must be ", shape);
  IntList axes;
  for (std::size_t i = rank - shape.size(); i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

void check_last_shape(const char* layer, const Shape& shape) {
  if (shape.empty() || element_count(shape) < 1) {
    core::throw_error<ShapeError>(layer, ": the shape ", shape, " must have an axis, and none that is empty");
  }
}

/// Spacing of numbers at 1.
double spacing(DType dtype) {
  switch (dtype) {
    case DType::f64: return std::numeric_limits<double>::epsilon();
    case DType::f16: return std::ldexp(1, -10);
    case DType::bf16: return std::ldexp(1, -7);
    default: return static_cast<double>(std::numeric_limits<float>::epsilon());
  }
}

}  // namespace

BatchNorm::BatchNorm(int spatial_axes, const BatchNormOptions& given) : options(given), spatial_axes_(spatial_axes) {
  set_channels("BatchNorm", *this);
  if (given.momentum && !(*given.momentum >= 0 && *given.momentum <= 1)) {
    core::throw_error<ValueError>("BatchNorm: the momentum ", *given.momentum, " must be in [0, 1]");
  }
}

template <class Unbiased>
void BatchNorm::track(const Tensor<Any>& mean, const Tensor<Any>& variance, const Unbiased& unbiased) const {
  const Tensor<Any> batches = num_batches_tracked + 1;
  const auto enter_both = [&](const auto& share) {
    enter(running_mean, reshape(mean, {options.channels}), share);
    enter(running_var, reshape(variance, {options.channels}) * unbiased, share);
  };
  if (options.momentum) enter_both(*options.momentum);
  else enter_both(1.0 / cast(batches, running_mean.dtype()));
  assign(num_batches_tracked, batches);
}

Tensor<Any> BatchNorm::forward(const Tensor<Any>& x, Phase phase) const {
  const std::string name = core::text("BatchNorm", spatial_axes_, "d");
  check_channels_of(name, x, options.channels);
  const int rank = x.ndim();
  if (rank != spatial_axes_ + 2 && !(spatial_axes_ == 1 && rank == 2)) {
    core::throw_error<ShapeError>(name, ": x ", x.shape(), " must have ", spatial_axes_ + 2, " axes",
                                  spatial_axes_ == 1 ? ", or 2" : "");
  }
  if (const auto found = forward_in_f32(*this, x, phase)) return *found;
  Tensor<Any> y;
  const bool trains = options.track ? is_training(name, phase) : phase == training;
  if (trains || !options.track) {
    const std::int64_t count = x.size() / options.channels;
    if (trains && count < 2) {
      core::throw_error<ShapeError>(name, ": x ", x.shape(), " has one number a channel; training needs more");
    }
    IntList axes = spatial_axes_of(x);
    axes.push_back(0);
    const bool sync = options.sync && trains;
    const Moments of = moments(x, axes, [&](const Tensor<Any>& own) {
      if (!sync) return own;
      // Processes compare labels: parts of different sizes are refused.
      const core::LabelScope parts(core::text(name, " over ", count, " numbers a channel"));
      return distributed::all_reduce(own, distributed::Reduce::mean);
    });
    y = scaled(normalised(of, options.epsilon), weight, bias);
    if (trains && options.track && is_batch(x)) {
      if (sync) track(of.mean, of.variance, unbiased_over_processes(count, of.variance.dtype()));
      else track(of.mean, of.variance, unbiased(count));
    }
  } else {
    y = by_statistics(x, running_mean, running_var, options.epsilon, weight, bias);
  }
  return as_type(y, x.dtype());
}

Members BatchNorm::members() const { return tracked_members(*this); }

InstanceNorm::InstanceNorm(const InstanceNormOptions& given) : options(given) { set_channels("InstanceNorm", *this); }

Tensor<Any> InstanceNorm::forward(const Tensor<Any>& x, Phase phase) const {
  check_channels_of("InstanceNorm", x, options.channels);
  if (const auto found = forward_in_f32(*this, x, phase)) return *found;
  if (options.track && !is_training("InstanceNorm", phase)) {
    return as_type(by_statistics(x, running_mean, running_var, options.epsilon, weight, bias), x.dtype());
  }
  const IntList space = spatial_axes_of(x);
  const std::int64_t count = x.size() / (std::max<std::int64_t>(x.shape()[0], 1) * options.channels);
  if (count < 2) core::throw_error<ShapeError>("InstanceNorm: x ", x.shape(), " has one number a channel of a sample");
  const Moments of = moments(x, space);
  if (phase == training && options.track && is_batch(x)) {
    enter(running_mean, mean(reshape(of.mean, {-1, options.channels}), 0), options.momentum);
    enter(running_var, mean(reshape(of.variance, {-1, options.channels}), 0) * unbiased(count), options.momentum);
  }
  return as_type(scaled(normalised(of, options.epsilon), weight, bias), x.dtype());
}

Members InstanceNorm::members() const { return tracked_members(*this); }

GroupNorm::GroupNorm(const GroupNormOptions& given) : options(given) {
  set_channels("GroupNorm", *this);
  if (given.groups < 1 || given.channels % given.groups != 0) {
    core::throw_error<ValueError>("GroupNorm: groups = ", given.groups, " must divide channels = ", given.channels);
  }
}

Tensor<Any> GroupNorm::forward(const Tensor<Any>& x, Phase phase) const {
  check_channels_of("GroupNorm", x, options.channels);
  if (const auto found = forward_in_f32(*this, x, phase)) return *found;
  const std::int64_t each = options.channels / options.groups;
  const std::int64_t samples = x.shape()[0];
  const std::int64_t places = element_count(x.shape()) / std::max<std::int64_t>(samples * options.channels, 1);
  const Tensor<Any> apart = reshape(x, {samples, places, options.groups, each});
  const Tensor<Any> y = reshape(normalised(moments(apart, {1, 3}), options.epsilon), x.shape());
  return as_type(scaled(y, weight, bias), x.dtype());
}

Members GroupNorm::members() const { return {{"weight", weight}, {"bias", bias}}; }

LayerNorm::LayerNorm(const LayerNormOptions& given) : options(given) {
  check_last_shape("LayerNorm", given.shape);
  set_parameters(*this, given.shape);
}

Tensor<Any> LayerNorm::forward(const Tensor<Any>& x, Phase phase) const {
  const IntList axes = last_axes("LayerNorm", x, options.shape);
  if (const auto found = forward_in_f32(*this, x, phase)) return *found;
  return as_type(scaled(normalised(moments(x, axes), options.epsilon), weight, bias), x.dtype());
}

Members LayerNorm::members() const { return {{"weight", weight}, {"bias", bias}}; }

LocalResponseNorm::LocalResponseNorm(const LocalResponseNormOptions& given) : options(given) {
  if (given.size < 1) core::throw_error<ValueError>("LocalResponseNorm: size = ", given.size, " must be at least 1");
}

Tensor<Any> LocalResponseNorm::forward(const Tensor<Any>& x, Phase phase) const {
  check_floating("LocalResponseNorm", x);
  if (x.ndim() < 2) {
    core::throw_error<ShapeError>("LocalResponseNorm: x ", x.shape(), " must be (batch, spatial..., channels)");
  }
  if (const auto found = forward_in_f32(*this, x, phase)) return *found;
  const Tensor<Any> total = moving_sum(square(x), options.size / 2, (options.size - 1) / 2);
  const Tensor<Any> spread = total * (options.alpha / static_cast<double>(options.size)) + options.k;
  return x * power(spread, -options.beta);
}

RMSNorm::RMSNorm(const RMSNormOptions& given) : options(given) {
  check_last_shape("RMSNorm", given.shape);
  if (given.affine) weight = one_parameter("weight", given.shape, given.dtype);
}

Tensor<Any> RMSNorm::forward(const Tensor<Any>& x, Phase) const {
  const IntList axes = last_axes("RMSNorm", x, options.shape);
  const double epsilon = options.epsilon.value_or(spacing(x.dtype()));
  const auto scaled_by_size = [&](const Tensor<Any>& wide) {
    const Tensor<Any> y = wide * rsqrt(mean(square(wide), Axes(axes), true) + epsilon);
    return as_type(scaled(y, weight, {}), wide.dtype());
  };
  if (const auto found = core::in_f32(scaled_by_size, x)) return *found;
  return scaled_by_size(x);
}

Members RMSNorm::members() const { return {{"weight", weight}}; }

}  // namespace nn
}  // namespace TYTO_API
