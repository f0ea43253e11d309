// SPDX-License-Identifier: MIT
// The rules of descent, each as the change of one parameter.
#include "tyto/nn/rules.hpp"

#include <cmath>
#include <functional>
#include <utility>

#include "core/value/text.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

void check_fraction(const char* rule, const char* name, double value) {
  if (!(value >= 0 && value < 1)) core::throw_error<ValueError>(rule, ": ", name, " = ", value, " must be in [0, 1)");
}

void check_not_negative(const char* rule, const char* name, double value) {
  if (!(value >= 0 && std::isfinite(value))) {
    core::throw_error<ValueError>(rule, ": ", name, " = ", value, " must be finite and at least 0");
  }
}

/// The options that Adam and its kin have in common.
template <class Options>
void check_adam(const char* rule, const Options& o) {
  check_fraction(rule, "beta1", o.beta1);
  check_fraction(rule, "beta2", o.beta2);
  check_not_negative(rule, "epsilon", o.epsilon);
  check_not_negative(rule, "weight_decay", o.weight_decay);
}

Tensor<Any> decayed(const UpdateContext& context, double weight_decay) {
  return weight_decay != 0 ? context.gradient + weight_decay * context.parameter : context.gradient;
}

/// The change with the weight decay of AdamW beside it.
Tensor<Any> beside_decay(const UpdateContext& context, const Tensor<Any>& change, double weight_decay) {
  return weight_decay != 0 ? change + context.rate * weight_decay * context.parameter : change;
}

/// Replaces a moving average by decay * average + (1 - decay) * x.
void blend(Tensor<Any>& average, double decay, const Tensor<Any>& x) { average = decay * average + (1 - decay) * x; }

// 1 - decay^count. The power itself is so close to 1 at first that f32 would lose half its digits in the difference.
Tensor<Any> share_seen(const UpdateContext& context, double decay) { return -expm1(context.count * std::log(decay)); }

/// `factor` times Adam's change, the mean over the root of squares, both corrected; the state is the means and, for
/// AMSGrad, the largest mean of squares. The correction of the mean is one number, so it goes to the factor.
Tensor<Any> adam_change(const UpdateContext& context, const Tensor<Any>& gradient, const AdamwOptions& o,
                        const Tensor<Any>& factor) {
  blend(context.state[0], o.beta1, gradient);
  blend(context.state[1], o.beta2, square(gradient));
  if (o.amsgrad) context.state[2] = maximum(context.state[2], context.state[1]);
  const Tensor<Any> root = sqrt(context.state[o.amsgrad ? 2 : 1]) / sqrt(share_seen(context, o.beta2));
  return factor / share_seen(context, o.beta1) * context.state[0] / (root + o.epsilon);
}

std::vector<std::string> adam_state_names(bool amsgrad) {
  if (amsgrad) return {"mean", "square_mean", "largest_square_mean"};
  return {"mean", "square_mean"};
}

/// A rule that asks how many updates there were, and changes each element by what belongs to it alone.
Descent counted_rule(std::string name, std::vector<std::string> state_names, const LearningRate& rate,
                     std::function<Tensor<Any>(const UpdateContext&)> change) {
  return Descent({.name = std::move(name),
                  .state_names = std::move(state_names),
                  .rate = rate,
                  .change = std::move(change),
                  .counted = true,
                  .elementwise = true});
}

}  // namespace

Descent sgd(const SgdOptions& o) {
  check_fraction("sgd", "momentum", o.momentum);
  check_not_negative("sgd", "weight_decay", o.weight_decay);
  const bool moving = o.momentum > 0;
  check_fraction("sgd", "dampening", o.dampening);
  if (o.nesterov && !moving) throw ValueError("sgd: Nesterov's look ahead needs a momentum above 0");
  if (o.nesterov && o.dampening != 0) throw ValueError("sgd: Nesterov's look ahead takes no dampening");
  const auto change = [o, moving](const UpdateContext& context) {
    const Tensor<Any> gradient = decayed(context, o.weight_decay);
    if (!moving) return context.rate * gradient;
    Tensor<Any>& velocity = context.state[0];
    if (o.dampening == 0) {
      velocity = o.momentum * velocity + gradient;
    } else {
      // Nothing is damped in the first step. A choice between two plain numbers would be in f32.
      const Tensor<Any> dampening = o.dampening * (context.count > 1.5).astype(gradient.dtype());
      velocity = o.momentum * velocity + (1.0 - dampening) * gradient;
    }
    return context.rate * (o.nesterov ? gradient + o.momentum * velocity : velocity);
  };
  return Descent({.name = "sgd",
                  .state_names = moving ? std::vector<std::string>{"velocity"} : std::vector<std::string>{},
                  .rate = o.rate,
                  .change = change,
                  .counted = o.dampening != 0,
                  .elementwise = true});
}

Descent adagrad(const AdagradOptions& o) {
  check_not_negative("adagrad", "epsilon", o.epsilon);
  check_not_negative("adagrad", "weight_decay", o.weight_decay);
  check_not_negative("adagrad", "first_squares", o.first_squares);
  const auto change = [o](const UpdateContext& context) {
    const Tensor<Any> gradient = decayed(context, o.weight_decay);
    Tensor<Any>& squares = context.state[0];
    squares = squares + square(gradient);
    return context.rate * gradient / (sqrt(squares) + o.epsilon);
  };
  return Descent({.name = "adagrad",
                  .state_names = {"squares"},
                  .rate = o.rate,
                  .change = change,
                  .first = {{"squares", o.first_squares}},
                  .elementwise = true});
}

Descent rmsprop(const RmspropOptions& o) {
  check_fraction("rmsprop", "decay", o.decay);
  check_not_negative("rmsprop", "epsilon", o.epsilon);
  check_fraction("rmsprop", "momentum", o.momentum);
  check_not_negative("rmsprop", "weight_decay", o.weight_decay);
  std::vector<std::string> state_names{"square_mean"};
  if (o.centred) state_names.emplace_back("mean");
  if (o.momentum > 0) state_names.emplace_back("velocity");
  const auto change = [o](const UpdateContext& context) {
    const Tensor<Any> gradient = decayed(context, o.weight_decay);
    blend(context.state[0], o.decay, square(gradient));
    Tensor<Any> spread = context.state[0];
    if (o.centred) {
      blend(context.state[1], o.decay, gradient);
      spread = spread - square(context.state[1]);
    }
    if (o.momentum == 0) return context.rate * gradient / (sqrt(spread) + o.epsilon);
    Tensor<Any>& velocity = context.state[context.state.size() - 1];
    velocity = o.momentum * velocity + gradient / (sqrt(spread) + o.epsilon);
    return context.rate * velocity;
  };
  return Descent(
      {.name = "rmsprop", .state_names = state_names, .rate = o.rate, .change = change, .elementwise = true});
}

Descent adam(const AdamOptions& o) {
  check_adam("adam", o);
  const AdamwOptions as_adamw{.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon, .amsgrad = o.amsgrad};
  const auto change = [as_adamw, weight_decay = o.weight_decay](const UpdateContext& context) {
    return adam_change(context, decayed(context, weight_decay), as_adamw, context.rate);
  };
  return counted_rule("adam", adam_state_names(o.amsgrad), o.rate, change);
}

Descent adamw(const AdamwOptions& o) {
  check_adam("adamw", o);
  const auto change = [o](const UpdateContext& context) {
    return beside_decay(context, adam_change(context, context.gradient, o, context.rate), o.weight_decay);
  };
  return counted_rule("adamw", adam_state_names(o.amsgrad), o.rate, change);
}

Descent adamax(const AdamaxOptions& o) {
  check_adam("adamax", o);
  const auto change = [o](const UpdateContext& context) {
    const Tensor<Any> gradient = decayed(context, o.weight_decay);
    blend(context.state[0], o.beta1, gradient);
    Tensor<Any>& largest = context.state[1];
    largest = maximum(o.beta2 * largest, abs(gradient) + o.epsilon);
    return context.rate / share_seen(context, o.beta1) * context.state[0] / largest;
  };
  return counted_rule("adamax", {"mean", "largest"}, o.rate, change);
}

Descent nadam(const NadamOptions& o) {
  check_adam("nadam", o);
  check_not_negative("nadam", "momentum_decay", o.momentum_decay);
  const auto change = [o](const UpdateContext& context) {
    const Tensor<Any> gradient = o.decoupled ? context.gradient : decayed(context, o.weight_decay);
    const auto momentum_at = [&](const Tensor<Any>& t) {
      return o.beta1 * (1.0 - 0.5 * exp(t * (o.momentum_decay * std::log(0.96))));
    };
    const Tensor<Any> momentum = momentum_at(context.count), next = momentum_at(context.count + 1.0);
    blend(context.state[0], o.beta1, gradient);
    blend(context.state[1], o.beta2, square(gradient));
    // The logarithm of the product of all momenta, which begins at 1.
    Tensor<Any>& log_product = context.state[2];
    log_product = log_product + log(momentum);
    const Tensor<Any> root = sqrt(context.state[1] / share_seen(context, o.beta2)) + o.epsilon;
    const Tensor<Any> of_gradient = (1.0 - momentum) / -expm1(log_product);
    const Tensor<Any> of_mean = next / -expm1(log_product + log(next));
    const Tensor<Any> taken = context.rate * (of_gradient * gradient + of_mean * context.state[0]) / root;
    return beside_decay(context, taken, o.decoupled ? o.weight_decay : 0);
  };
  return Descent({.name = "nadam",
                  .state_names = {"mean", "square_mean"},
                  .rate = o.rate,
                  .change = change,
                  .numbers = {"log_momentum_product"},
                  .counted = true,
                  .elementwise = true});
}

Descent radam(const RadamOptions& o) {
  check_adam("radam", o);
  const auto change = [o](const UpdateContext& context) {
    const Tensor<Any> gradient = o.decoupled ? context.gradient : decayed(context, o.weight_decay);
    blend(context.state[0], o.beta1, gradient);
    blend(context.state[1], o.beta2, square(gradient));
    const Tensor<Any> seen = share_seen(context, o.beta2);
    const double most = 2 / (1 - o.beta2) - 1;
    // How many squares the mean is worth; below 5 its variance is unknown.
    const Tensor<Any> worth = most - 2.0 * context.count * (1.0 - seen) / seen;
    const Tensor<Any> known = greater(worth, 5.0);
    const Tensor<Any> safe = where(known, worth, 6.0);
    const Tensor<Any> rectified =
        sqrt((safe - 4.0) * (safe - 2.0) * most / ((most - 4) * (most - 2) * safe)) * sqrt(seen);
    const Tensor<Any> scale = where(known, rectified / (sqrt(context.state[1]) + o.epsilon), 1.0);
    const Tensor<Any> taken = context.rate / share_seen(context, o.beta1) * context.state[0] * scale;
    return beside_decay(context, taken, o.decoupled ? o.weight_decay : 0);
  };
  return counted_rule("radam", {"mean", "square_mean"}, o.rate, change);
}

Descent adadelta(const AdadeltaOptions& o) {
  check_fraction("adadelta", "decay", o.decay);
  check_not_negative("adadelta", "epsilon", o.epsilon);
  check_not_negative("adadelta", "weight_decay", o.weight_decay);
  const auto change = [o](const UpdateContext& context) {
    const Tensor<Any> gradient = decayed(context, o.weight_decay);
    blend(context.state[0], o.decay, square(gradient));
    const Tensor<Any> delta = gradient * (sqrt(context.state[1] + o.epsilon) / sqrt(context.state[0] + o.epsilon));
    blend(context.state[1], o.decay, square(delta));
    return context.rate * delta;
  };
  return Descent({.name = "adadelta",
                  .state_names = {"square_mean", "square_change_mean"},
                  .rate = o.rate,
                  .change = change,
                  .elementwise = true});
}

Descent lion(const LionOptions& o) {
  check_fraction("lion", "beta1", o.beta1);
  check_fraction("lion", "beta2", o.beta2);
  check_not_negative("lion", "weight_decay", o.weight_decay);
  const auto change = [o](const UpdateContext& context) {
    Tensor<Any>& mean = context.state[0];
    const Tensor<Any> direction = sign(o.beta1 * mean + (1 - o.beta1) * context.gradient);
    blend(mean, o.beta2, context.gradient);
    return context.rate * (direction + o.weight_decay * context.parameter);
  };
  return Descent({.name = "lion", .state_names = {"mean"}, .rate = o.rate, .change = change, .elementwise = true});
}

Descent lamb(const LambOptions& o) {
  check_adam("lamb", o);
  const AdamwOptions as_adamw{.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon};
  const auto change = [as_adamw, weight_decay = o.weight_decay](const UpdateContext& context) {
    const Tensor<Any> direction =
        adam_change(context, context.gradient, as_adamw, 1.0) + weight_decay * context.parameter;
    const Tensor<Any> own = l2_norm(context.parameter), other = l2_norm(direction);
    const Tensor<Any> both = greater(own, 0.0) && greater(other, 0.0);
    return context.rate * where(both, own / where(both, other, 1.0), 1.0) * direction;
  };
  return Descent(
      {.name = "lamb", .state_names = {"mean", "square_mean"}, .rate = o.rate, .change = change, .counted = true});
}

Descent rprop(const RpropOptions& o) {
  if (!(o.shrink > 0 && o.shrink < 1 && o.grow > 1)) {
    core::throw_error<ValueError>("rprop: shrink = ", o.shrink, " and grow = ", o.grow,
                                  " must be in (0, 1) and above 1");
  }
  check_not_negative("rprop", "smallest_step", o.smallest_step);
  check_not_negative("rprop", "largest_step", o.largest_step);
  const auto change = [o](const UpdateContext& context) {
    Tensor<Any>&before = context.state[0], &step = context.state[1];
    const Tensor<Any> product = context.gradient * before;
    const Tensor<Any> turned = less(product, 0.0);
    const Tensor<Any> unchanged = ones_like(product);  // which gives the numbers beside it its type
    const Tensor<Any> factor = where(turned, o.shrink, where(greater(product, 0.0), o.grow, unchanged));
    step = clip(where(context.count < 1.5, context.rate, step) * factor, o.smallest_step, o.largest_step);
    before = where(turned, 0.0, context.gradient);
    return sign(before) * step;
  };
  return counted_rule("rprop", {"gradient", "step"}, o.rate, change);
}

Descent asgd(const AsgdOptions& o) {
  check_not_negative("asgd", "decay", o.decay);
  check_not_negative("asgd", "power", o.power);
  check_not_negative("asgd", "average_from", o.average_from);
  check_not_negative("asgd", "weight_decay", o.weight_decay);
  const auto change = [o](const UpdateContext& context) {
    const Tensor<Any> gradient = decayed(context, o.weight_decay), before = context.count - 1.0;
    const Tensor<Any> step = context.rate / power(1.0 + o.decay * context.rate * before, o.power);
    const Tensor<Any> taken = step * (gradient + o.decay * context.parameter);
    const Tensor<Any> share = 1.0 / maximum(before - o.average_from, 1.0);
    Tensor<Any>& average = context.state[0];
    average = average + share * (context.parameter - taken - average);
    return taken;
  };
  return counted_rule("asgd", {"average"}, o.rate, change);
}

}  // namespace nn
}  // namespace TYTO_API
