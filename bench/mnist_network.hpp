// SPDX-License-Identifier: MIT
// The network that benchmarks train: Owl's for MNIST, the one of examples/mnist but for how its weights begin.
#pragma once

#include <tyto/nn.hpp>

namespace tyto::bench {

inline nn::Sequential mnist_network() {
  const nn::Initialiser glorot = nn::glorot_uniform;
  return {nn::Conv2d({.in = 1, .out = 32, .window = 5, .padding = same, .initial = glorot}),
          relu,
          nn::MaxPool(2),
          nn::Dropout(0.1),
          nn::Flatten(),
          nn::Linear({.in = 14 * 14 * 32, .out = 1024, .initial = glorot}),
          relu,
          nn::Linear({.in = 1024, .out = 10, .initial = glorot})};
}

}  // namespace tyto::bench
