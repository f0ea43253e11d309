// SPDX-License-Identifier: MIT
// Layers that change the size of the spatial axes without weights.
#include "tyto/nn/pooling.hpp"

#include <cmath>

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

Shape along_space_of(const Tensor<Any>& x, const char* layer, const char* what, const PerAxis& given) {
  check_space(layer, x);
  return along_space(layer, what, given, static_cast<std::size_t>(x.ndim() - 2));
}

/// Largest elements of `size` windows along one axis, window i from floor(i n / size) to ceil((i + 1) n / size).
/// Pooling gives the gradient of equal ones to the first. The axes before and behind it are one each, since pooling
/// takes no more than three.
Tensor<Any> adaptive_max(const Tensor<Any>& x, std::size_t axis, std::int64_t size) {
  Shape shape = x.shape();
  const std::int64_t length = shape[axis];
  std::int64_t before = 1, behind = 1;
  for (std::size_t i = 1; i + 1 < shape.size(); ++i) {
    if (i != axis) (i < axis ? before : behind) *= shape[i];
  }
  const Tensor<Any> merged = reshape(x, {shape[0], before, length, behind, shape.back()});
  shape[axis] = size;
  if (length % size == 0) return reshape(max_pool(merged, {1, length / size, 1}), shape);
  std::vector<Tensor<Any>> results;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t begin = i * length / size, end = ((i + 1) * length + size - 1) / size;
    results.push_back(max_pool(merged.get({tyto::all, tyto::all, slice(begin, end)}), {1, end - begin, 1}));
  }
  return reshape(concat(results, 2), shape);
}

void check_factor(const char* layer, std::int64_t factor) {
  if (factor < 1) core::throw_error<ValueError>(layer, ": the factor ", factor, " must be at least 1");
}

}  // namespace

Tensor<Any> MaxPool::forward(const Tensor<Any>& x, Phase) const { return max_pool(x, window, options); }

Tensor<Any> AveragePool::forward(const Tensor<Any>& x, Phase) const { return average_pool(x, window, options); }

PowerPool::PowerPool(double p, PerAxis size, PoolOptions given)
    : power(p), window(std::move(size)), options(std::move(given)) {
  if (!(p > 0 && std::isfinite(p))) core::throw_error<ValueError>("PowerPool: the power ", p, " must be positive");
  options.count_padding = true;
}

Tensor<Any> PowerPool::forward(const Tensor<Any>& x, Phase phase) const {
  const Shape lengths = along_space_of(x, "PowerPool", "window", window);
  if (const auto found = forward_in_f32(*this, x, phase)) return *found;
  const double count = static_cast<double>(element_count(lengths));
  // A square needs no absolute value, which has no curvature at 0.
  const Tensor<Any> powers = power == 2 ? square(x) : tyto::power(abs(x), power);
  const Tensor<Any> sums = average_pool(powers, window, options) * count;
  // The root of 0 has no gradient; like PyTorch's it is flat there.
  const Tensor<Any> there = greater(sums, 0.0);
  return where(there, tyto::power(where(there, sums, 1.0), 1 / power), 0.0);
}

Tensor<Any> AdaptiveAveragePool::forward(const Tensor<Any>& x, Phase) const { return adaptive_average_pool(x, size); }

Tensor<Any> AdaptiveMaxPool::forward(const Tensor<Any>& x, Phase) const {
  const Shape lengths = along_space_of(x, "AdaptiveMaxPool", "size", size);
  for (const std::int64_t length : lengths) {
    if (length < 1) core::throw_error<ValueError>("AdaptiveMaxPool: the size ", size, " must have lengths from 1 on");
  }
  // The last axis first: of equal elements the first one is then that of the first row.
  Tensor<Any> y = x;
  for (std::size_t i = lengths.size(); i-- > 0;) y = adaptive_max(y, i + 1, lengths[i]);
  return y;
}

Tensor<Any> GlobalAveragePool::forward(const Tensor<Any>& x, Phase) const {
  check_space("GlobalAveragePool", x);
  return global_average_pool(x);
}

Tensor<Any> GlobalMaxPool::forward(const Tensor<Any>& x, Phase) const {
  check_space("GlobalMaxPool", x);
  std::int64_t space = 1;
  for (const std::int64_t axis : spatial_axes_of(x)) space *= x.shape()[static_cast<std::size_t>(axis)];
  const std::int64_t batch = x.shape()[0], channels = x.shape().back();
  return reshape(max_pool(reshape(x, {batch, space, channels}), {space}), {batch, channels});
}

Tensor<Any> Upsample::forward(const Tensor<Any>& x, Phase) const { return upsample(x, scale, how); }

Tensor<Any> Pad::forward(const Tensor<Any>& x, Phase) const {
  if (border.kind() != Padding::Kind::explicit_counts) throw ValueError("Pad: counts of elements are expected");
  IntList before{0}, after{0};
  const Shape first = along_space_of(x, "Pad", "padding", border.before());
  const Shape last = along_space_of(x, "Pad", "padding", border.after());
  for (const std::int64_t count : first) before.push_back(count);
  for (const std::int64_t count : last) after.push_back(count);
  before.push_back(0);
  after.push_back(0);
  return pad(x, before, after, options.mode, options.value);
}

PixelShuffle::PixelShuffle(std::int64_t r) : factor(r) { check_factor("PixelShuffle", r); }

Tensor<Any> PixelShuffle::forward(const Tensor<Any>& x, Phase) const {
  const std::int64_t square = factor * factor;
  if (x.ndim() != 4 || x.shape()[3] % square != 0) {
    core::throw_error<ShapeError>("PixelShuffle: x ", x.shape(), " must have 4 axes, the last a multiple of ", square);
  }
  const std::int64_t n = x.shape()[0], h = x.shape()[1], w = x.shape()[2], c = x.shape()[3] / square;
  return reshape(transpose(reshape(x, {n, h, w, c, factor, factor}), {0, 1, 4, 2, 5, 3}),
                 {n, h * factor, w * factor, c});
}

PixelUnshuffle::PixelUnshuffle(std::int64_t r) : factor(r) { check_factor("PixelUnshuffle", r); }

Tensor<Any> PixelUnshuffle::forward(const Tensor<Any>& x, Phase) const {
  if (x.ndim() != 4 || x.shape()[1] % factor != 0 || x.shape()[2] % factor != 0) {
    core::throw_error<ShapeError>("PixelUnshuffle: x ", x.shape(), " must have 4 axes, rows and columns multiples of ",
                                  factor);
  }
  const std::int64_t n = x.shape()[0], h = x.shape()[1] / factor, w = x.shape()[2] / factor, c = x.shape()[3];
  return reshape(transpose(reshape(x, {n, h, factor, w, factor, c}), {0, 1, 3, 5, 2, 4}),
                 {n, h, w, c * factor * factor});
}

}  // namespace nn
}  // namespace TYTO_API
