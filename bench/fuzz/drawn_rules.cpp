// SPDX-License-Identifier: MIT
// Rules of descent and schedules by their names: parameters after each of many updates, a checkpoint between two.
#include <cmath>
#include <cstdio>

#include "bench/fuzz/drawn_case.hpp"

namespace tyto::oracle {

nn::LearningRate rate_of(const DrawnCase& c) {
  const std::string kind = c.text("schedule");
  const double first = c.real("rate", 0.1), last = c.real("last", 0), factor = c.real("factor", 0.5);
  const std::int64_t steps = c.integer("steps", 10);
  if (kind.empty()) return first;
  if (kind == "step") return nn::step_decay(first, factor, steps);
  if (kind == "multi_step") {
    const PerAxis counts = c.each("counts", 1);
    return nn::multi_step(first, factor, std::vector<std::int64_t>(counts.begin(), counts.end()));
  }
  if (kind == "exponential") return nn::exponential_decay(first, -std::log(factor));
  if (kind == "inverse") return nn::inverse_decay(first, factor);
  if (kind == "polynomial") return nn::polynomial_decay(first, last, steps, c.real("power", 1));
  if (kind == "cosine") return nn::cosine_decay(first, last, steps);
  if (kind == "restarts") return nn::cosine_restarts(first, last, steps, c.integer("growth", 1));
  if (kind == "one_cycle") {
    return nn::one_cycle(first, steps,
                         {.rising = c.real("rising", 0.3),
                          .first_factor = c.real("first_factor", 25),
                          .last_factor = c.real("last_factor", 1e4),
                          .three_phases = c.flag("three_phases"),
                          .linear = c.flag("linear")});
  }
  if (kind == "cyclic") {
    return nn::cyclic(first, last,
                      {.rising = c.integer("rising_steps", 5),
                       .falling = c.has("falling_steps") ? std::optional(c.integer("falling_steps")) : std::nullopt,
                       .cycle_factor = c.real("cycle_factor", 1),
                       .update_factor = c.real("update_factor", 1)});
  }
  throw std::invalid_argument("no such schedule: " + kind);
}

nn::Descent rule_of(const DrawnCase& c) {
  const std::string rule = c.text("rule");
  const nn::LearningRate rate = rate_of(c);
  const double decay = c.real("weight_decay", 0), beta1 = c.real("beta1", 0.9), beta2 = c.real("beta2", 0.999);
  const double epsilon = c.real("epsilon", 1e-8);
  const bool amsgrad = c.flag("amsgrad");
  if (rule == "sgd") {
    return nn::sgd({.rate = rate,
                    .momentum = c.real("momentum", 0),
                    .nesterov = c.flag("nesterov"),
                    .weight_decay = decay,
                    .dampening = c.real("dampening", 0)});
  }
  if (rule == "adagrad")
    return nn::adagrad(
        {.rate = rate, .epsilon = epsilon, .weight_decay = decay, .first_squares = c.real("first_squares", 0)});
  if (rule == "rmsprop") {
    return nn::rmsprop({.rate = rate,
                        .decay = c.real("decay", 0.99),
                        .epsilon = epsilon,
                        .momentum = c.real("momentum", 0),
                        .centred = c.flag("centred"),
                        .weight_decay = decay});
  }
  if (rule == "adam") return nn::adam({rate, beta1, beta2, epsilon, decay, amsgrad});
  if (rule == "adamw") return nn::adamw({rate, beta1, beta2, epsilon, decay, amsgrad});
  if (rule == "adamax") return nn::adamax({rate, beta1, beta2, epsilon, decay});
  if (rule == "nadam")
    return nn::nadam({rate, beta1, beta2, epsilon, decay, c.real("momentum_decay", 0.004), c.flag("decoupled")});
  if (rule == "radam") return nn::radam({rate, beta1, beta2, epsilon, decay, c.flag("decoupled")});
  if (rule == "adadelta") {
    return nn::adadelta({.rate = rate, .decay = c.real("decay", 0.9), .epsilon = epsilon, .weight_decay = decay});
  }
  if (rule == "rprop") {
    return nn::rprop({.rate = rate,
                      .shrink = c.real("shrink", 0.5),
                      .grow = c.real("grow", 1.2),
                      .smallest_step = c.real("smallest_step", 1e-6),
                      .largest_step = c.real("largest_step", 50)});
  }
  if (rule == "asgd") {
    return nn::asgd({.rate = rate,
                     .decay = c.real("decay", 1e-4),
                     .power = c.real("power_of_step", 0.75),
                     .average_from = c.real("average_from", 1e6),
                     .weight_decay = decay});
  }
  if (rule == "adafactor") {
    return nn::adafactor({.rate = rate,
                          .decay_power = c.real("decay_power", -0.8),
                          .epsilon1 = c.has("epsilon1") ? std::optional(c.real("epsilon1", 0)) : std::nullopt,
                          .epsilon2 = c.real("epsilon2", 1e-3),
                          .clip = c.real("clip", 1),
                          .weight_decay = decay});
  }
  throw std::invalid_argument("no such rule: " + rule);
}

namespace {

/// Everything that a run has: made anew and read from a checkpoint where it is resumed.
template <class M>
struct Run {
  std::vector<Tensor<M>> parameters;
  nn::Descent descent;
  nn::LossScale scale;
  nn::AveragedWeights average;
  nn::Checkpoint checkpoint;

  explicit Run(const DrawnCase& c)
      : parameters(parameters_of(c)),
        descent(rule_of(c)),
        scale({.first = c.real("first_scale", 65536),
               .growth = c.real("growth_of_scale", 2),
               .backoff = c.real("backoff", 0.5),
               .growth_interval = c.integer("growth_interval", 2000)}),
        average(named(), {.decay = c.has("average") ? std::optional(c.real("average", 0)) : std::nullopt}) {
    checkpoint.add("model", named()).add("descent", descent.state(named()));
    checkpoint.add("scale", scale.state()).add("average", average.state());
  }

  NamedList<Tensor<Any>> named() const {
    NamedList<Tensor<Any>> list;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      list.push_back({"w" + std::to_string(i), Tensor<Any>(parameters[i].value())});
    }
    return list;
  }
  static std::vector<Tensor<M>> parameters_of(const DrawnCase& c) {
    std::vector<Tensor<M>> list;
    for (std::size_t i = 0; c.has_array("w" + std::to_string(i)); ++i) {
      const std::string name = "w" + std::to_string(i);
      list.push_back(Tensor<M>::variable(c.array<M>(name), name.c_str()));
    }
    return list;
  }
};

template <class M>
void descend(DrawnCase& c) {
  using T = Tensor<M>;
  auto run = std::make_unique<Run<M>>(c);
  const std::size_t count = run->parameters.size();
  const std::int64_t updates = c.integer("updates"), resume = c.integer("resume", -1);
  const bool scaling = c.flag("scaling");
  // One argument for all: the gradients as a row.
  const auto step_of = [&](Run<M>& r) {
    return compile([&r, scaling](T row) {
      std::vector<T> gradients;
      std::int64_t begin = 0;
      for (const T& parameter : r.parameters) {
        gradients.push_back(row(slice(begin, begin + parameter.size())).reshape(parameter.shape()));
        begin += parameter.size();
      }
      if (scaling) r.scale.step(r.descent, r.parameters, gradients);
      else r.descent.update(r.parameters, gradients);
      r.average.update();
      return row;
    });
  };
  auto step = std::make_unique<decltype(step_of(*run))>(step_of(*run));
  std::vector<std::vector<T>> values(count);
  for (std::int64_t i = 0; i < updates; ++i) {
    if (i == resume) {
      const std::string path = c.file(".resumed.npz");
      run->checkpoint.save(path);
      auto other = std::make_unique<Run<M>>(c);
      other->checkpoint.load(path);
      std::remove(path.c_str());
      step.reset();
      run = std::move(other);
      step = std::make_unique<decltype(step_of(*run))>(step_of(*run));
    }
    std::vector<T> rows;
    for (std::size_t k = 0; k < count; ++k) {
      const T all = c.array<M>("g" + std::to_string(k));
      rows.push_back(copy(std::as_const(all)(i)).reshape(-1) * (scaling ? run->scale.current() : 1.0));
    }
    (void)(*step)(concat(rows));
    for (std::size_t k = 0; k < count; ++k) {
      values[k].push_back(
          T::from(run->parameters[k].astype(DType::f64).template to_vector<double>(), run->parameters[k].shape()));
    }
  }
  for (std::size_t k = 0; k < count; ++k) c.keep("w" + std::to_string(k), stack(values[k]));
  if (scaling) c.keep("scale", T::full({}, run->scale.current(), DType::f64));
  for (std::size_t k = 0; k < count; ++k) {
    c.keep("average" + std::to_string(k), run->average.state()["w" + std::to_string(k)]);
  }
}

}  // namespace

template <class M>
bool run_rule(DrawnCase& drawn) {
  if (drawn.kind() == "rule") {
    descend<M>(drawn);
    return true;
  }
  if (drawn.kind() == "schedule") {
    const nn::LearningRate rate = rate_of(drawn);
    std::vector<double> rates;
    for (std::int64_t i = 0; i < drawn.integer("updates"); ++i) {
      rates.push_back(
          cast(rate.at(Tensor<Any>::full({}, static_cast<double>(i), DType::f64)), DType::f64).item<double>());
    }
    drawn.keep("y", Tensor<Eager>::from(rates, {static_cast<std::int64_t>(rates.size())}));
    return true;
  }
  if (drawn.kind() != "plateau") return false;
  nn::Plateau plateau(drawn.real("rate", 0.1), {.factor = drawn.real("factor", 0.5),
                                                .patience = drawn.integer("patience", 10),
                                                .threshold = drawn.real("threshold", 1e-4),
                                                .relative = drawn.flag("relative", true),
                                                .larger_is_better = drawn.flag("larger_is_better"),
                                                .cooldown = drawn.integer("cooldown", 0),
                                                .least = drawn.real("least", 0)});
  std::vector<double> rates;
  for (const double figure : drawn.array<Eager>("figures").template to_vector<double>()) {
    plateau.observe(figure);
    rates.push_back(plateau.current());
  }
  drawn.keep("y", Tensor<Eager>::from(rates, {static_cast<std::int64_t>(rates.size())}));
  return true;
}

template bool run_rule<Eager>(DrawnCase&);
template bool run_rule<Lazy>(DrawnCase&);

}  // namespace tyto::oracle
