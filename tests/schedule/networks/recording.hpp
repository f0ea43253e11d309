// SPDX-License-Identifier: MIT
// Recording a network without computing anything: weights are states that were never given contents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "tyto/tyto.hpp"

namespace tyto::testing {

using T = Tensor<Lazy>;

/// Ways to update the weights of a recorded training step.
enum class Descends : std::uint8_t { plainly, by_adagrad };

/// One graph in the making: its inputs and weights, then its end as inference or as a training step.
class Recording {
 public:
  /// With `training` gradients of the loss are going to be asked for.
  explicit Recording(bool training);

  bool training() const { return tape_ != nullptr; }
  T input(const Shape& shape, DType dtype = DType::f32);
  T weight(const Shape& shape);

  core::Graph inference(const T& result);
  /// The loss is the result; every weight is updated by its gradient.
  core::Graph training_step(const T& loss, Descends how = Descends::plainly);

 private:
  T state(const Shape& shape);

  std::unique_ptr<detail::Tape> tape_;
  std::vector<T> inputs_;
  std::vector<T> weights_;
};

/// Convolution, then normalisation over the batch (in training by the batch's moments).
T normalised_convolution(Recording& recording, const T& x, std::int64_t channels, int window, int stride);
/// Scale and shift by channel, in training after taking off the batch's mean and dividing by its deviation.
T batch_norm(Recording& recording, const T& x);
/// x times a weight, plus a bias.
T dense(Recording& recording, const T& x, std::int64_t width);

}  // namespace tyto::testing
