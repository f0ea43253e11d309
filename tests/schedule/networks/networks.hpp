// SPDX-License-Identifier: MIT
// Networks as graphs, recorded through the public interface; nothing is computed and no weight has contents.
#pragma once

#include "tests/schedule/networks/recording.hpp"

namespace tyto::testing {

/// Owl's lazy_mnist: convolution 5x5x32, pooling, dropout 0.1, dense 1024, dense 10; one step of Adagrad.
core::Graph digits_training(std::int64_t batch);

/// ResNet with bottleneck blocks; {3, 4, 6, 3} is ResNet-50.
struct ResidualSize {
  std::int64_t batch = 1;
  std::int64_t side = 224;
  std::vector<int> blocks = {3, 4, 6, 3};
};
core::Graph residual_network(bool training, const ResidualSize& size);

/// DenseNet with growth 32; {6, 12, 24, 16} is DenseNet-121.
struct DenseSize {
  std::int64_t batch = 1;
  std::int64_t side = 224;
  std::vector<int> blocks = {6, 12, 24, 16};
};
core::Graph dense_network(bool training, const DenseSize& size);

/// U-Net: two convolutions a level, channels doubled downwards, skips joined on the way up to what was resized and,
/// when `narrows`, convolved to half its channels.
struct UNetworkSize {
  std::int64_t batch = 1;
  std::int64_t side = 256;
  std::int64_t channels = 64;
  int levels = 4;
  bool narrows = true;
};
core::Graph u_network(bool training, const UNetworkSize& size);

/// The encoder-decoder transformer of 2017.
struct TransformerSize {
  std::int64_t batch = 4;
  std::int64_t length = 128;
  std::int64_t width = 512;
  std::int64_t inner = 2048;
  std::int64_t heads = 8;
  int layers = 6;
};
core::Graph transformer(bool training, const TransformerSize& size);

/// Owl's lazy_lstm: embedding, one LSTM layer unrolled in time, two dense layers; gates computed one by one.
struct RecurrentSize {
  std::int64_t batch = 100;
  std::int64_t steps = 100;
  std::int64_t cells = 128;
};
core::Graph recurrent_training(const RecurrentSize& size);

}  // namespace tyto::testing
