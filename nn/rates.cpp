// SPDX-License-Identifier: MIT
// Learning rates that change with the count of updates.
#include "tyto/nn/rates.hpp"

#include <cmath>
#include <numbers>

#include "core/value/text.hpp"
#include "tyto/elementwise.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

void check_rate(const char* what, double rate) {
  if (!(rate >= 0 && std::isfinite(rate))) {
    core::throw_error<ValueError>(what, ": a learning rate of ", rate, "; it must be finite and at least 0");
  }
}

void check_steps(const char* what, std::int64_t steps) {
  if (steps < 1) core::throw_error<ValueError>(what, ": ", steps, " steps; at least 1 is needed");
}

void check_factor_of(const char* what, double factor) {
  if (!(factor > 0 && std::isfinite(factor)))
    core::throw_error<ValueError>(what, ": the factor ", factor, " must be positive");
}

template <class T>
void check_ascending(const char* what, const std::vector<std::pair<std::int64_t, T>>& entries) {
  if (entries.empty() || entries[0].first != 0)
    core::throw_error<ValueError>(what, ": the first entry must be for count 0");
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].first <= entries[i - 1].first) {
      core::throw_error<ValueError>(what, ": count ", entries[i].first, " follows ", entries[i - 1].first,
                                    "; counts must ascend");
    }
  }
}

Tensor<Any> to_power(double factor, const Tensor<Any>& times) { return exp(std::log(factor) * times); }

/// Interpolates from `first` to `last` by half a cosine, or linearly, as `part` goes from 0 to 1.
Tensor<Any> between(double first, double last, const Tensor<Any>& part, bool linear) {
  if (linear) return first + (last - first) * part;
  return last + (0.5 * (first - last)) * (1.0 + cos(part * std::numbers::pi));
}

}  // namespace

LearningRate::LearningRate(double constant) : constant_(constant) { check_rate("LearningRate", constant); }

Tensor<Any> LearningRate::at(const Tensor<Any>& count) const {
  return schedule_ ? schedule_(count) : Tensor<Any>(constant_);
}

LearningRate inverse_decay(double first, double decay) {
  check_rate("inverse_decay", first);
  return LearningRate([=](const Tensor<Any>& count) { return first / (1.0 + decay * count); });
}

LearningRate exponential_decay(double first, double decay) {
  check_rate("exponential_decay", first);
  return LearningRate([=](const Tensor<Any>& count) { return first * exp(-decay * count); });
}

LearningRate step_decay(double first, double factor, std::int64_t steps) {
  check_rate("step_decay", first);
  check_factor_of("step_decay", factor);
  check_steps("step_decay", steps);
  return LearningRate(
      [=](const Tensor<Any>& count) { return first * to_power(factor, floor(count / static_cast<double>(steps))); });
}

LearningRate multi_step(double first, double factor, std::vector<std::int64_t> counts) {
  check_rate("multi_step", first);
  check_factor_of("multi_step", factor);
  return LearningRate([=, counts = std::move(counts)](const Tensor<Any>& count) {
    Tensor<Any> passed = 0.0 * count;
    for (const std::int64_t each : counts) passed = passed + where(greater_equal(count, each), 1.0, 0.0);
    return first * to_power(factor, passed);
  });
}

LearningRate polynomial_decay(double first, double last, std::int64_t steps, double power) {
  check_rate("polynomial_decay", first);
  check_rate("polynomial_decay", last);
  check_steps("polynomial_decay", steps);
  if (!(power > 0)) core::throw_error<ValueError>("polynomial_decay: the power ", power, " must be positive");
  return LearningRate([=](const Tensor<Any>& count) {
    const Tensor<Any> left = 1.0 - minimum(count / static_cast<double>(steps), 1.0);
    return last + (first - last) * tyto::power(left, power);
  });
}

LearningRate cosine_decay(double first, double last, std::int64_t steps) {
  check_rate("cosine_decay", first);
  check_rate("cosine_decay", last);
  check_steps("cosine_decay", steps);
  return LearningRate([=](const Tensor<Any>& count) {
    return between(first, last, minimum(count / static_cast<double>(steps), 1.0), false);
  });
}

LearningRate cosine_restarts(double first, double last, std::int64_t steps, std::int64_t factor) {
  check_rate("cosine_restarts", first);
  check_rate("cosine_restarts", last);
  check_steps("cosine_restarts", steps);
  if (factor < 1) core::throw_error<ValueError>("cosine_restarts: the factor ", factor, " must be at least 1");
  const auto length = static_cast<double>(steps);
  if (factor == 1) {
    return LearningRate([=](const Tensor<Any>& count) {
      return between(first, last, (count - length * floor(count / length)) / length, false);
    });
  }
  // Cycle n begins at steps (factor^n - 1) / (factor - 1). A logarithm finds n, or its neighbour where it is rounded.
  const auto growth = static_cast<double>(factor);
  const auto begin = [=](const Tensor<Any>& cycle) {
    return round(length * (to_power(growth, cycle) - 1.0) / (growth - 1));
  };
  return LearningRate([=](const Tensor<Any>& count) {
    Tensor<Any> cycle = floor(log1p(count * ((growth - 1) / length)) / std::log(growth));
    cycle = cycle - where(less(count, begin(cycle)), 1.0, 0.0);
    cycle = cycle + where(greater_equal(count, begin(cycle + 1.0)), 1.0, 0.0);
    const Tensor<Any> start = begin(cycle);
    return between(first, last, (count - start) / (begin(cycle + 1.0) - start), false);
  });
}

LearningRate piecewise(std::vector<std::pair<std::int64_t, double>> entries) {
  check_ascending("piecewise", entries);
  for (const auto& entry : entries) check_rate("piecewise", entry.second);
  return LearningRate([entries = std::move(entries)](const Tensor<Any>& count) {
    Tensor<Any> rate = 0.0 * count + entries[0].second;
    for (std::size_t i = 1; i < entries.size(); ++i) {
      rate = where(greater_equal(count, entries[i].first), entries[i].second, rate);
    }
    return rate;
  });
}

LearningRate one_cycle(double largest, std::int64_t steps, const OneCycleOptions& o) {
  check_rate("one_cycle", largest);
  check_steps("one_cycle", steps);
  if (!(o.rising > 0 && o.rising < 1) || (o.three_phases && o.rising >= 0.5)) {
    core::throw_error<ValueError>("one_cycle: the rising share ", o.rising, " must be between 0 and ",
                                  o.three_phases ? "0.5" : "1");
  }
  if (!(o.first_factor > 0 && o.last_factor > 0)) {
    core::throw_error<ValueError>("one_cycle: the factors ", o.first_factor, " and ", o.last_factor,
                                  " must be positive");
  }
  const double first = largest / o.first_factor, last = first / o.last_factor;
  const double end = static_cast<double>(steps) - 1, top = o.rising * static_cast<double>(steps) - 1;
  struct Part {
    double begin, end, from, to;
  };
  std::vector<Part> parts{{0, top, first, largest}};
  if (o.three_phases) parts.insert(parts.end(), {{top, 2 * top, largest, first}, {2 * top, end, first, last}});
  else parts.push_back({top, end, largest, last});
  return LearningRate([parts, linear = o.linear](const Tensor<Any>& count) {
    Tensor<Any> rate;
    for (const Part& part : parts) {
      const Tensor<Any> passed = (count - part.begin) / (part.end - part.begin);
      const Tensor<Any> own = between(part.from, part.to, minimum(maximum(passed, 0.0), 1.0), linear);
      rate = !rate.defined() ? own : where(greater(count, part.begin), own, rate);
    }
    return rate;
  });
}

LearningRate cyclic(double lowest, double largest, const CyclicOptions& o) {
  check_rate("cyclic", lowest);
  check_rate("cyclic", largest);
  const auto rising = static_cast<double>(o.rising), falling = static_cast<double>(o.falling.value_or(o.rising));
  if (!(rising >= 1 && falling >= 1)) {
    core::throw_error<ValueError>("cyclic: rising = ", rising, " and falling = ", falling, " must be at least 1");
  }
  check_factor_of("cyclic", o.cycle_factor);
  check_factor_of("cyclic", o.update_factor);
  return LearningRate([=](const Tensor<Any>& count) {
    const Tensor<Any> cycle = floor(count / (rising + falling));
    const Tensor<Any> passed = count - cycle * (rising + falling);
    Tensor<Any> height = minimum(passed / rising, (rising + falling - passed) / falling);
    if (o.cycle_factor != 1) height = height * to_power(o.cycle_factor, cycle);
    if (o.update_factor != 1) height = height * to_power(o.update_factor, count);
    return lowest + (largest - lowest) * height;
  });
}

LearningRate warm_up(std::int64_t steps, LearningRate rate) {
  check_steps("warm_up", steps);
  return LearningRate([steps, rate = std::move(rate)](const Tensor<Any>& count) {
    return minimum(count / static_cast<double>(steps), 1.0) * rate.at(count);
  });
}

LearningRate in_sequence(std::vector<std::pair<std::int64_t, LearningRate>> entries) {
  check_ascending("in_sequence", entries);
  return LearningRate([entries = std::move(entries)](const Tensor<Any>& count) {
    Tensor<Any> rate = 0.0 * count + entries[0].second.at(count);
    for (std::size_t i = 1; i < entries.size(); ++i) {
      const auto begin = static_cast<double>(entries[i].first);
      const Tensor<Any> own = entries[i].second.at(maximum(count - begin, 0.0));
      rate = where(greater_equal(count, begin), own, rate);
    }
    return rate;
  });
}

LearningRate per_epoch(std::int64_t updates, LearningRate rate) {
  check_steps("per_epoch", updates);
  return LearningRate([updates, rate = std::move(rate)](const Tensor<Any>& count) {
    return rate.at(floor(count / static_cast<double>(updates)));
  });
}

Plateau::Plateau(double first, const PlateauOptions& options) : options_(options) {
  check_rate("Plateau", first);
  check_rate("Plateau", options.least);
  if (!(options.factor > 0 && options.factor < 1)) {
    core::throw_error<ValueError>("Plateau: the factor ", options.factor, " must be between 0 and 1");
  }
  if (options.patience < 0 || options.cooldown < 0) {
    core::throw_error<ValueError>("Plateau: patience = ", options.patience, " and cooldown = ", options.cooldown,
                                  " must be at least 0");
  }
  const auto number = [](double value, const char* name) {
    return Tensor<Any>::persistent(Tensor<Any>::full({}, value, DType::f64), name);
  };
  rate_ = number(first, "rate");
  const double worst = std::numeric_limits<double>::infinity();
  best_ = number(options.larger_is_better ? -worst : worst, "best");
  without_improvement_ = Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), "without_improvement");
  cooling_ = Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), "cooling");
}

LearningRate Plateau::rate() const {
  return LearningRate([rate = rate_](const Tensor<Any>& count) { return rate + 0.0 * count; });
}

double Plateau::current() const { return rate_.item<double>(); }

bool Plateau::observe(double figure) {
  const double best = best_.item<double>();
  const double sign = options_.larger_is_better ? 1 : -1;
  // Without a best value yet there is no relative threshold.
  const double margin = !options_.relative ? options_.threshold
                        : std::isinf(best) ? 0
                                           : options_.threshold * std::abs(best);
  std::int64_t idle = without_improvement_.item<std::int64_t>() + 1;
  if (sign * figure > sign * best + margin) {
    assign(best_, Tensor<Any>::full({}, figure, DType::f64));
    idle = 0;
  }
  std::int64_t cooling = cooling_.item<std::int64_t>();
  if (cooling > 0) {
    --cooling;
    idle = 0;
  }
  bool fell = false;
  if (idle > options_.patience) {
    const double now = current(), next = std::max(now * options_.factor, options_.least);
    fell = next < now;
    if (fell) assign(rate_, Tensor<Any>::full({}, next, DType::f64));
    cooling = options_.cooldown;
    idle = 0;
  }
  assign(without_improvement_, Tensor<Any>::full({}, idle, DType::i64));
  assign(cooling_, Tensor<Any>::full({}, cooling, DType::i64));
  return fell;
}

NamedList<Tensor<Any>> Plateau::state() const {
  return {{"rate", rate_}, {"best", best_}, {"without_improvement", without_improvement_}, {"cooling", cooling_}};
}

}  // namespace nn
}  // namespace TYTO_API
