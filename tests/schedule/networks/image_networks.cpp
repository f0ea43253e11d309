// SPDX-License-Identifier: MIT
// The networks on images.
#include "tests/schedule/networks/networks.hpp"

namespace tyto::testing {

namespace {

core::Graph finish(Recording& recording, const T& scores) {
  if (!recording.training()) return recording.inference(softmax(scores));
  return recording.training_step(cross_entropy(scores, recording.input({scores.shape()[0]}, DType::i64)));
}

}  // namespace

core::Graph digits_training(std::int64_t batch) {
  Recording recording(true);
  const T x = recording.input({batch, 28, 28, 1});
  const T kernel = recording.weight({5, 5, 1, 32});
  T y = relu(conv2d(x, kernel, {.padding = same}) + recording.weight({32}));
  y = max_pool(y, 2);
  y = y * cast(T::bernoulli(y.shape(), {.probability = 0.9}), DType::f32) / 0.9;
  y = relu(dense(recording, flatten(y, 1), 1024));
  const T t = recording.input({batch}, DType::i64);
  return recording.training_step(cross_entropy(dense(recording, y, 10), t), Descends::by_adagrad);
}

core::Graph residual_network(bool training, const ResidualSize& size) {
  Recording recording(training);
  T x = recording.input({size.batch, size.side, size.side, 3});
  x = relu(normalised_convolution(recording, x, 64, 7, 2));
  x = max_pool(x, 3, {.stride = 2, .padding = same});
  std::int64_t channels = 64;
  for (std::size_t stage = 0; stage < size.blocks.size(); ++stage) {
    for (int block = 0; block < size.blocks[stage]; ++block) {
      const int stride = stage > 0 && block == 0 ? 2 : 1;
      T y = relu(normalised_convolution(recording, x, channels, 1, 1));
      y = relu(normalised_convolution(recording, y, channels, 3, stride));
      y = normalised_convolution(recording, y, 4 * channels, 1, 1);
      const T skip = block == 0 ? normalised_convolution(recording, x, 4 * channels, 1, stride) : x;
      x = relu(y + skip);
    }
    channels *= 2;
  }
  return finish(recording, dense(recording, global_average_pool(x), 1000));
}

core::Graph dense_network(bool training, const DenseSize& size) {
  constexpr std::int64_t growth = 32;
  Recording recording(training);
  T x = recording.input({size.batch, size.side, size.side, 3});
  x = relu(normalised_convolution(recording, x, 2 * growth, 7, 2));
  x = max_pool(x, 3, {.stride = 2, .padding = same});
  for (std::size_t stage = 0; stage < size.blocks.size(); ++stage) {
    for (int layer = 0; layer < size.blocks[stage]; ++layer) {
      T y = relu(batch_norm(recording, x));
      y = relu(normalised_convolution(recording, y, 4 * growth, 1, 1));
      y = conv2d(y, recording.weight({3, 3, 4 * growth, growth}), {.padding = same});
      x = concat<Lazy>({x, y}, 3);
    }
    x = relu(batch_norm(recording, x));
    if (stage + 1 == size.blocks.size()) break;
    x = conv2d(x, recording.weight({1, 1, x.shape().back(), x.shape().back() / 2}));
    x = average_pool(x, 2);
  }
  return finish(recording, dense(recording, global_average_pool(x), 1000));
}

core::Graph u_network(bool training, const UNetworkSize& size) {
  Recording recording(training);
  const auto twice = [&](T x, std::int64_t channels) {
    for (int i = 0; i < 2; ++i) {
      const T kernel = recording.weight({3, 3, x.shape().back(), channels});
      x = relu(conv2d(x, kernel, {.padding = same}) + recording.weight({channels}));
    }
    return x;
  };
  T x = recording.input({size.batch, size.side, size.side, 3});
  std::vector<T> skips;
  std::int64_t channels = size.channels;
  for (int level = 0; level < size.levels; ++level) {
    skips.push_back(twice(x, channels));
    x = max_pool(skips.back(), 2);
    channels *= 2;
  }
  x = twice(x, channels);
  for (int level = size.levels - 1; level >= 0; --level) {
    channels /= 2;
    T up = upsample(x, 2);
    if (size.narrows) {
      up = conv2d(up, recording.weight({2, 2, 2 * channels, channels}), {.padding = same}) +
           recording.weight({channels});
    }
    x = twice(concat<Lazy>({skips[static_cast<std::size_t>(level)], up}, 3), channels);
  }
  const T scores = conv2d(x, recording.weight({1, 1, channels, 2}));
  if (!training) return recording.inference(softmax(scores));
  return recording.training_step(mean_squared_error(softmax(scores), recording.input(scores.shape())));
}

}  // namespace tyto::testing
