// SPDX-License-Identifier: MIT
// The networks on sequences.
#include <cmath>

#include "tests/schedule/networks/networks.hpp"

namespace tyto::testing {

namespace {

T layer_norm(Recording& recording, const T& x) {
  const std::int64_t width = x.shape().back();
  const T centred = x - mean(x, -1, true);
  const T normed = centred / sqrt(mean(centred * centred, -1, true) + 1e-5);
  return normed * recording.weight({width}) + recording.weight({width});
}

// Queries from x, keys and values from `memory`; with a mask added to the scores when there is one.
T attention(Recording& recording, const T& x, const T& memory, const TransformerSize& size, const T* mask) {
  const std::int64_t each = size.width / size.heads;
  const auto split = [&](const T& y) {
    return transpose(reshape(y, {size.batch, size.length, size.heads, each}), {0, 2, 1, 3});
  };
  const T queries = split(dense(recording, x, size.width));
  const T keys = split(dense(recording, memory, size.width));
  const T values = split(dense(recording, memory, size.width));
  T scores = matmul(queries, matrix_transpose(keys)) / std::sqrt(static_cast<double>(each));
  if (mask != nullptr) scores = scores + *mask;
  const T mixed = transpose(matmul(softmax(scores), values), {0, 2, 1, 3});
  return dense(recording, reshape(mixed, {size.batch, size.length, size.width}), size.width);
}

T feed_forward(Recording& recording, const T& x, const TransformerSize& size) {
  return dense(recording, relu(dense(recording, x, size.inner)), size.width);
}

}  // namespace

core::Graph transformer(bool training, const TransformerSize& size) {
  Recording recording(training);
  T source = recording.input({size.batch, size.length, size.width});
  T target = recording.input({size.batch, size.length, size.width});
  const T mask = recording.input({size.length, size.length});
  for (int layer = 0; layer < size.layers; ++layer) {
    source = layer_norm(recording, source + attention(recording, source, source, size, nullptr));
    source = layer_norm(recording, source + feed_forward(recording, source, size));
  }
  for (int layer = 0; layer < size.layers; ++layer) {
    target = layer_norm(recording, target + attention(recording, target, target, size, &mask));
    target = layer_norm(recording, target + attention(recording, target, source, size, nullptr));
    target = layer_norm(recording, target + feed_forward(recording, target, size));
  }
  if (!training) return recording.inference(target);
  return recording.training_step(mean_squared_error(target, recording.input(target.shape())));
}

core::Graph recurrent_training(const RecurrentSize& size) {
  constexpr std::int64_t vocabulary = 100;
  constexpr std::int64_t embedded = 40;
  Recording recording(true);
  const T words = recording.input({size.batch, size.steps}, DType::i64);
  const T table = recording.weight({vocabulary, embedded});
  struct Gate {
    T from_input;
    T from_hidden;
    T bias;
  };
  std::vector<Gate> gates;
  for (int i = 0; i < 4; ++i) {
    gates.push_back({recording.weight({embedded, size.cells}), recording.weight({size.cells, size.cells}),
                     recording.weight({size.cells})});
  }
  T hidden = T::zeros({size.batch, size.cells});
  T cell = T::zeros({size.batch, size.cells});
  for (std::int64_t step = 0; step < size.steps; ++step) {
    const T x = take(table, words(all, step), 0);
    const auto gate = [&](std::size_t i) {
      return matmul(x, gates[i].from_input) + matmul(hidden, gates[i].from_hidden) + gates[i].bias;
    };
    const T in = sigmoid(gate(0));
    const T forget = sigmoid(gate(1));
    const T out = sigmoid(gate(2));
    cell = forget * cell + in * tanh(gate(3));
    hidden = out * tanh(cell);
  }
  const T scores = dense(recording, relu(dense(recording, hidden, 512)), vocabulary);
  const T next = recording.input({size.batch}, DType::i64);
  return recording.training_step(cross_entropy(scores, next), Descends::by_adagrad);
}

}  // namespace tyto::testing
