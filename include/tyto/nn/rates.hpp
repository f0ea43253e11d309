// SPDX-License-Identifier: MIT
// Learning rates: numbers, functions of the count of updates, and one that is lowered when a metric stops improving.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tyto/named.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

/// A learning rate: a number, or a function of how many updates were made before (a floating 0-d tensor).
class TYTO_API LearningRate {
 public:
  /// A learning rate as a function of the count of updates.
  using Schedule = std::function<Tensor<Any>(const Tensor<Any>& count)>;
  /// Throws ValueError unless it is finite and at least 0.
  LearningRate(double constant);
  LearningRate(Schedule schedule) : schedule_(std::move(schedule)) {}

  /// The rate after `count` updates, as a 0-d tensor or a number.
  Tensor<Any> at(const Tensor<Any>& count) const;

 private:
  double constant_ = 0;
  Schedule schedule_;
};

/// first / (1 + decay * count).
LearningRate inverse_decay(double first, double decay);
/// first * exp(-decay * count).
LearningRate exponential_decay(double first, double decay);
/// Multiplied by `factor` after every `steps` updates.
LearningRate step_decay(double first, double factor, std::int64_t steps);
/// Multiplied by `factor` at each of these counts.
LearningRate multi_step(double first, double factor, std::vector<std::int64_t> counts);
/// From `first` to `last` in `steps` updates as (1 - count / steps)^power, then `last`; power 1 is a straight line.
LearningRate polynomial_decay(double first, double last, std::int64_t steps, double power = 1);
/// From `first` down to `last` along half a cosine in `steps` updates, then `last`.
LearningRate cosine_decay(double first, double last, std::int64_t steps);
/// cosine_decay begun anew after `steps` updates, then after `factor` times as many, and so on.
LearningRate cosine_restarts(double first, double last, std::int64_t steps, std::int64_t factor = 1);
/// The rate of the last entry whose count is reached: piecewise({{0, 0.1}, {1000, 0.01}}).
LearningRate piecewise(std::vector<std::pair<std::int64_t, double>> entries);

/// Options of `one_cycle`.
struct OneCycleOptions {
  double rising = 0.3;        ///< the share of all updates in which the rate rises
  double first_factor = 25;   ///< the first rate is the largest over this
  double last_factor = 1e4;   ///< the last rate is the first over this
  bool three_phases = false;  ///< back to the first rate in as many updates as it rose, then down
  bool linear = false;        ///< in straight lines instead of half cosines
};
/// Up to `largest` and down again in `steps` updates (Smith, Topin 2018), then as at the end.
LearningRate one_cycle(double largest, std::int64_t steps, const OneCycleOptions& options = {});

/// Options of `cyclic`.
struct CyclicOptions {
  std::int64_t rising = 2000;                ///< updates from the lowest rate to the largest
  std::optional<std::int64_t> falling = {};  ///< updates back; none: as many
  double cycle_factor = 1;                   ///< what the height above the lowest rate is multiplied by every cycle
  double update_factor = 1;                  ///< and every update
};
/// Up and down again in straight lines, over and over (Smith 2017).
LearningRate cyclic(double lowest, double largest, const CyclicOptions& options = {});

/// From 0 up in a straight line for `steps` updates, then as `rate`, which counts from the first update on.
LearningRate warm_up(std::int64_t steps, LearningRate rate);
/// The rate of the last entry whose count is reached, which counts from there on: in_sequence({{0, a}, {1000, b}}).
LearningRate in_sequence(std::vector<std::pair<std::int64_t, LearningRate>> entries);
/// `rate` counting epochs of so many updates.
LearningRate per_epoch(std::int64_t updates, LearningRate rate);

/// Options of `Plateau`.
struct PlateauOptions {
  double factor = 0.1;            ///< what the rate is multiplied by
  std::int64_t patience = 10;     ///< reports without improvement that are tolerated
  double threshold = 1e-4;        ///< what counts as improvement
  bool relative = true;           ///< whether the threshold is a part of the best value
  bool larger_is_better = false;  ///< whether the metric should grow
  std::int64_t cooldown = 0;      ///< observations after a fall that are not held against it
  double least = 0;               ///< the rate does not fall below it
};
/// A rate that is lowered when the metric that is reported has not improved for a while. A compiled step reads it anew
/// each time.
///
///     nn::Plateau plateau(0.1, {.patience = 3});
///     nn::Descent descent = nn::sgd({.rate = plateau.rate()});
///     plateau.observe(validation_loss);  // after each epoch
class TYTO_API Plateau {
 public:
  explicit Plateau(double first, const PlateauOptions& options = {});

  /// The rate for an optimiser, and its value now.
  LearningRate rate() const;
  double current() const;
  /// Reports the metric; true when the rate was lowered.
  bool observe(double metric);
  /// The state that a checkpoint must hold.
  NamedList<Tensor<Any>> state() const;

 private:
  PlateauOptions options_;
  Tensor<Any> rate_, best_, without_improvement_, cooling_;
};

}  // namespace TYTO_API
}  // namespace tyto
