// The rules of descent, each as the change of one parameter.
#include <cmath>

#include "nn/complain.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/nn/descent.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

void check_fraction(const char* rule, const char* name, double value) {
  if (!(value >= 0 && value < 1)) throw ValueError(text(rule, ": ", name, " = ", value, " must be in [0, 1)"));
}

void check_not_negative(const char* rule, const char* name, double value) {
  if (!(value >= 0 && std::isfinite(value))) {
    throw ValueError(text(rule, ": ", name, " = ", value, " must be finite and at least 0"));
  }
}

// 1 - decay^count. The power itself is so close to 1 at first that f32 would lose half its digits in the difference.
Tensor<Any> share_seen(const UpdateStep& step, double decay) { return -expm1(step.count * std::log(decay)); }

Tensor<Any> adam_change(const UpdateStep& step, double beta1, double beta2, double epsilon) {
  Tensor<Any>& mean = step.memories[0];
  Tensor<Any>& square_mean = step.memories[1];
  mean = beta1 * mean + (1 - beta1) * step.gradient;
  square_mean = beta2 * square_mean + (1 - beta2) * square(step.gradient);
  const Tensor<Any> rate = step.rate / share_seen(step, beta1);
  const Tensor<Any> root = sqrt(square_mean) / sqrt(share_seen(step, beta2));
  return rate * mean / (root + epsilon);
}

}  // namespace

Descent sgd(const SgdOptions& o) {
  check_fraction("sgd", "momentum", o.momentum);
  check_not_negative("sgd", "weight_decay", o.weight_decay);
  const bool moving = o.momentum > 0;
  if (o.nesterov && !moving) throw ValueError("sgd: Nesterov's look ahead needs a momentum above 0");
  const auto change = [o, moving](const UpdateStep& step) {
    const Tensor<Any> gradient = o.weight_decay != 0 ? step.gradient + o.weight_decay * step.parameter : step.gradient;
    if (!moving) return step.rate * gradient;
    Tensor<Any>& velocity = step.memories[0];
    velocity = o.momentum * velocity + gradient;
    return step.rate * (o.nesterov ? gradient + o.momentum * velocity : velocity);
  };
  return Descent({"sgd", moving ? std::vector<std::string>{"velocity"} : std::vector<std::string>{}, o.rate, change});
}

Descent adagrad(const AdagradOptions& o) {
  check_not_negative("adagrad", "epsilon", o.epsilon);
  const auto change = [o](const UpdateStep& step) {
    Tensor<Any>& squares = step.memories[0];
    squares = squares + square(step.gradient);
    return step.rate * step.gradient / (sqrt(squares) + o.epsilon);
  };
  return Descent({"adagrad", {"squares"}, o.rate, change});
}

Descent rmsprop(const RmspropOptions& o) {
  check_fraction("rmsprop", "decay", o.decay);
  check_not_negative("rmsprop", "epsilon", o.epsilon);
  const auto change = [o](const UpdateStep& step) {
    Tensor<Any>& square_mean = step.memories[0];
    square_mean = o.decay * square_mean + (1 - o.decay) * square(step.gradient);
    return step.rate * step.gradient / (sqrt(square_mean) + o.epsilon);
  };
  return Descent({"rmsprop", {"square_mean"}, o.rate, change});
}

Descent adam(const AdamOptions& o) {
  check_fraction("adam", "beta1", o.beta1);
  check_fraction("adam", "beta2", o.beta2);
  check_not_negative("adam", "epsilon", o.epsilon);
  const auto change = [o](const UpdateStep& step) { return adam_change(step, o.beta1, o.beta2, o.epsilon); };
  return Descent({"adam", {"mean", "square_mean"}, o.rate, change});
}

Descent adamw(const AdamwOptions& o) {
  check_fraction("adamw", "beta1", o.beta1);
  check_fraction("adamw", "beta2", o.beta2);
  check_not_negative("adamw", "epsilon", o.epsilon);
  check_not_negative("adamw", "weight_decay", o.weight_decay);
  const auto change = [o](const UpdateStep& step) {
    return adam_change(step, o.beta1, o.beta2, o.epsilon) + step.rate * o.weight_decay * step.parameter;
  };
  return Descent({"adamw", {"mean", "square_mean"}, o.rate, change});
}

}  // namespace nn
}  // namespace TYTO_API
