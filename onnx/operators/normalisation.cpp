// SPDX-License-Identifier: MIT
// Normalisations: to a mean of 0 and a deviation of 1 over a batch, a layer, a group, a picture.
#include "onnx/operators/normalisation.hpp"

#include "onnx/operators/windows.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/statistics.hpp"

namespace tyto::onnx {

Normalised normalised(const Array& x, const Axes& axes, double epsilon) {
  const Array centre = mean(x, axes, true);
  const Array apart = x - centre;
  const Array inverse = rsqrt(mean(square(apart), axes, true) + epsilon);
  return {apart * inverse, centre, inverse};
}

Axes last_axes(std::int64_t from, int rank) {
  IntList axes;
  for (std::int64_t i = from; i < rank; ++i) axes.push_back(i);
  return axes;
}

Array root_mean_square_normalised(const Array& x, const Axes& axes, double epsilon) {
  return x * rsqrt(mean(square(x), axes, true) + epsilon);
}

namespace {

Axes spatial(const Array& x) { return last_axes(2, x.ndim()); }

Array stretched(const Array& x, const Array& scale, const Array& bias) {
  return bias.defined() ? x * scale + bias : x * scale;
}

// Normalisation by given statistics: one product and one sum a channel.
Outputs batch_norm(const OperatorCall& call) {
  const Array& x = call[0];
  const double epsilon = call.number("epsilon", 1e-5), momentum = call.number("momentum", 0.9);
  const bool training = call.integer("training_mode", 0) != 0;
  call.ignore("is_test");
  if (call.integer("spatial", 1) == 0) call.refuse("spatial 0 (statistics for each element) is not supported");
  const int rank = x.ndim();
  if (!training) {
    const Array factor = halves_in_f32(call[1]) * rsqrt(halves_in_f32(call[4]) + epsilon);
    const Array offset = call[2] - call[3] * factor;
    return {cast(x * by_channel(factor, rank) + by_channel(offset, rank), x.dtype())};
  }
  IntList axes{0};
  for (std::int64_t i = 2; i < rank; ++i) axes.push_back(i);
  const Array wide = halves_in_f32(x);
  const Array y = normalised(wide, axes, epsilon).result * by_channel(call[1], rank) + by_channel(call[2], rank);
  const auto moved = [&](const Array& before, const Array& now) {
    return cast(before * momentum + now * (1 - momentum), before.dtype());
  };
  return {cast(y, x.dtype()), moved(call[3], mean(wide, axes)), moved(call[4], var(wide, axes))};
}

Outputs instance_norm(const OperatorCall& call) {
  const Array& x = call[0];
  const Array y = normalised(halves_in_f32(x), spatial(x), call.number("epsilon", 1e-5)).result;
  return {cast(stretched(y, by_channel(call[1], x.ndim()), by_channel(call[2], x.ndim())), x.dtype())};
}

Outputs layer_norm(const OperatorCall& call) {
  const Array& x = call[0];
  const Axes axes = last_axes(call.axis(-1, x.ndim()), x.ndim());
  const double epsilon = call.number("epsilon", 1e-5);
  const Normalised n = normalised(call.integer("stash_type", 1) == 1 ? halves_in_f32(x) : x, axes, epsilon);
  return {stretched(cast(n.result, x.dtype()), call[1], call.optional(2)), n.mean, n.inverse_deviation};
}

Outputs root_mean_square_norm(const OperatorCall& call) {
  const Array& x = call[0];
  const Axes axes = last_axes(call.axis(-1, x.ndim()), x.ndim());
  const double epsilon = call.number("epsilon", 1e-5);
  const Array y = root_mean_square_normalised(call.integer("stash_type", 1) == 1 ? halves_in_f32(x) : x, axes, epsilon);
  return {cast(y, x.dtype()) * call[1]};
}

// Version 18 has a factor for each group, 21 for each channel.
Outputs group_norm(const OperatorCall& call) {
  const Array& x = call[0];
  const std::int64_t groups = call.integer("num_groups");
  const double epsilon = call.number("epsilon", 1e-5);
  call.ignore("stash_type");
  if (x.ndim() < 2 || groups < 1 || axis_length(x, 1) % groups != 0)
    call.refuse(groups, " groups for input ", x.shape());
  const Shape grouped{axis_length(x, 0), groups, -1};
  Array y = normalised(reshape(halves_in_f32(x), grouped), -1, epsilon).result;
  const bool by_group = call[1].size() == groups && call.version() < 21;
  if (by_group) y = y * by_channel(call[1], 3) + by_channel(call[2], 3);
  y = reshape(y, x.shape());
  if (!by_group) y = stretched(y, by_channel(call[1], x.ndim()), by_channel(call[2], x.ndim()));
  return {cast(y, x.dtype())};
}

Outputs mean_variance_norm(const OperatorCall& call) {
  const std::vector<std::int64_t> axes = call.integers("axes", {0, 2, 3});
  const Axes over{IntList(std::span(axes))};
  const Array x = halves_in_f32(call[0]);
  const Array apart = x - mean(x, over, true);
  return {cast(apart / (sqrt(mean(square(apart), over, true)) + 1e-9), call[0].dtype())};
}

Outputs length_norm(const OperatorCall& call) {
  const Array& x = call[0];
  const std::int64_t axis = call.axis(-1, x.ndim()), p = call.integer("p", 2);
  const Array wide = halves_in_f32(x), length = p == 1 ? l1_norm(wide, axis, true) : l2_norm(wide, axis, true);
  return {cast(where(length == 0, 0.0, wide / length), x.dtype())};
}

// Divided by a power of the sum of squares over neighbouring channels.
Outputs local_response(const OperatorCall& call) {
  const Array& x = call[0];
  const double alpha = call.number("alpha", 1e-4), beta = call.number("beta", 0.75), bias = call.number("bias", 1);
  const std::int64_t size = call.integer("size");
  if (size < 1 || x.ndim() < 2) call.refuse("size ", size, " for input ", x.shape());
  const Array wide = halves_in_f32(x), total = moving_sum(square(wide), (size - 1) / 2, size / 2, 1);
  return {cast(wide / power(total * (alpha / static_cast<double>(size)) + bias, beta), x.dtype())};
}

constexpr OperatorRow normalisation_table[] = {
    {"BatchNormalization", 7, batch_norm},
    {"GroupNormalization", 18, group_norm},
    {"InstanceNormalization", 6, instance_norm},
    {"LRN", 1, local_response},
    {"LayerNormalization", 1, layer_norm},
    {"LpNormalization", 1, length_norm},
    {"MeanVarianceNormalization", 9, mean_variance_norm},
    {"RMSNormalization", 23, root_mean_square_norm},
    {"SimplifiedLayerNormalization", 1, root_mean_square_norm},
};

}  // namespace

std::span<const OperatorRow> normalisation_rows() { return normalisation_table; }

}  // namespace tyto::onnx
