// SPDX-License-Identifier: MIT
// States, tapes and the layers that several networks have.
#include "tests/schedule/networks/recording.hpp"

#include "core/graph/builder.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"

namespace tyto::testing {

Recording::Recording(bool training) : tape_(training ? std::make_unique<detail::Tape>() : nullptr) {}

T Recording::input(const Shape& shape, DType dtype) {
  inputs_.push_back(T::placeholder(shape, dtype));
  return inputs_.back();
}

T Recording::state(const Shape& shape) {
  const Value handle = run::make_state(core::Mode::lazy, core::State::Kind::variable, {}, {DType::f32, shape, false});
  const std::shared_ptr<core::State> state = run::state_behind(handle, "weight");
  state->set_current(core::version(core::Mode::lazy, state, core::Array()));
  return handle;
}

T Recording::weight(const Shape& shape) {
  weights_.push_back(state(shape));
  if (tape_) tape_->track_state(weights_.back(), {});
  return weights_.back();
}

core::Graph Recording::inference(const T& result) {
  const Value output = result;
  return run::trace({.outputs = {&output, 1}, .updates = {}, .inputs = {}}).graph;
}

core::Graph Recording::training_step(const T& loss, Descends how) {
  const std::vector<Value> gradients = tape_->gradients({loss});
  std::vector<run::StateUpdate> updates;
  const auto update = [&](const T& handle, const T& value) {
    updates.emplace_back(run::state_behind(handle, "weight"), value);
  };
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const T gradient = gradients[i];
    if (how == Descends::plainly) {
      update(weights_[i], weights_[i] - gradient * 0.01);
      continue;
    }
    const T memory = state(weights_[i].shape());
    const T sum = memory + gradient * gradient;
    update(memory, sum);
    update(weights_[i], weights_[i] - gradient * (0.005 / (sqrt(sum) + 1e-10)));
  }
  const Value output = loss;
  return run::trace({.outputs = {&output, 1}, .updates = updates, .inputs = {}}).graph;
}

T batch_norm(Recording& recording, const T& x) {
  const std::int64_t channels = x.shape().back();
  const T scale = recording.weight({channels});
  const T shift = recording.weight({channels});
  if (!recording.training()) return x * scale + shift;
  // Written so that only x itself is kept for the gradient.
  const IntList axes = x.ndim() == 4 ? IntList{0, 1, 2} : IntList{0};
  const T slope = scale / sqrt(var(x, axes) + 1e-5);
  return x * slope + (shift - mean(x, axes) * slope);
}

T normalised_convolution(Recording& recording, const T& x, std::int64_t channels, int window, int stride) {
  const T kernel = recording.weight({window, window, x.shape().back(), channels});
  return batch_norm(recording, conv2d(x, kernel, {.stride = stride, .padding = same}));
}

T dense(Recording& recording, const T& x, std::int64_t width) {
  return matmul(x, recording.weight({x.shape().back(), width})) + recording.weight({width});
}

}  // namespace tyto::testing
