// SPDX-License-Identifier: MIT
// Distributions of counts of events: successes among trials, trials up to a success, good ones among those drawn.
#include "numerics/count_laws.hpp"
#include "numerics/incomplete.hpp"
#include "numerics/quadrature.hpp"
#include "ops/define.hpp"
#include "tyto/distributions.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace distributions {

using core::drawn_shape;
using core::drawn_type;
using core::is_count;
using core::marked;
using core::split_options;
using core::uniform_draws;

TYTO_SAMPLE(Bernoulli) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T p = TYTO_CHECKED(Bernoulli, probability, probability);
  const T u = uniform_draws<T>(drawn_shape(asked, probability), drawn_type(probability), options);
  return marked<T>({p}, u < p);
}
TYTO_LOG_PROB(Bernoulli) {
  const auto& [probability] = distribution;
  const T zero = equal(x, 0), one = equal(x, 1);
  // Logarithms of what was not asked for would have infinite gradients at 0 and 1.
  return where(one, log(where(one, probability, 1.0)),
               where(zero, log1p(-where(zero, probability, 0.0)), core::log_of_zero));
}
TYTO_CDF(Bernoulli) {
  const auto& [probability] = distribution;
  return where(x < 0, 0.0, where(x < 1, 1.0 - probability, 1.0));
}

TYTO_SAMPLE(Binomial) {
  const Shape shape = drawn_shape(asked, count, probability);
  const T n = TYTO_CHECKED_WIDE(Binomial, count, count), p = TYTO_CHECKED_WIDE(Binomial, probability, probability);
  return marked<T>({n, p}, core::binomial_draws<T>(shape, n, p, options));
}
TYTO_WIDE_LOG_PROB(Binomial) {
  const auto& [count, probability] = distribution;
  const T inside = is_count(x) && x <= count;
  return where(inside, core::log_binomial<T>(where(inside, x, 0.0), count, probability), core::log_of_zero);
}
TYTO_WIDE_CDF(Binomial) {
  const auto& [count, probability] = distribution;
  const T k = floor(x), inside = k >= 0.0 && k < count, safe = where(inside, k, 0.0);
  const T trials = where(inside, count, 1.0);
  return where(inside, T(core::beta_below(trials - safe, safe + 1.0, 1.0 - probability, probability)),
               where(k < 0.0, 0.0, 1.0));
}

TYTO_SAMPLE(Geometric) {
  const T p = TYTO_CHECKED_WIDE(Geometric, probability, probability_above_zero);
  const T u = uniform_draws<T>(drawn_shape(asked, probability), DType::f64, options);
  return marked<T>({p}, where(p < 1.0, maximum(ceil(log1p(-u) / log1p(-where(p < 1.0, p, 0.5))), 1.0), 1.0));
}
TYTO_WIDE_LOG_PROB(Geometric) {
  const auto& [probability] = distribution;
  const T inside = is_count(x) && x >= 1.0, failures = where(inside, x - 1.0, 0.0);
  const T failing = where(equal(failures, 0.0), 0.0, probability), succeeding = where(inside, probability, 1.0);
  return where(inside, failures * log1p(-failing) + log(succeeding), core::log_of_zero);
}
TYTO_WIDE_CDF(Geometric) {
  const auto& [probability] = distribution;
  const T trials = maximum(floor(x), 0.0);
  return where(equal(trials, 0.0), 0.0, -expm1(trials * log1p(-probability)));
}

TYTO_SAMPLE(NegativeBinomial) {
  const Shape shape = drawn_shape(asked, count, probability);
  const T r = TYTO_CHECKED_WIDE(NegativeBinomial, count, rate);
  const T p = TYTO_CHECKED_WIDE(NegativeBinomial, probability, probability_above_zero);
  // Failures come as often as a Poisson whose rate is gamma distributed.
  const T odds = (1.0 - p) / p;
  const T most = core::checked<T>("NegativeBinomial", "(count + 1) * (1 - probability) / probability",
                                  T((r + 1.0) * odds), core::limits::mixed_rate);
  const T rate = minimum(core::gamma_draws<T>(shape, r, split_options(options, 0)) * odds, core::most_rate);
  return marked<T>({r, p, most}, core::poisson_draws<T>(shape, rate, split_options(options, 1)));
}
TYTO_WIDE_LOG_PROB(NegativeBinomial) {
  const auto& [count, probability] = distribution;
  const T inside = is_count(x), trials = count + where(inside, x, 0.0), some = trials > 0.0;
  // The share of orders of the trials that end with a success.
  const T last = log(where(some, count / where(some, trials, 1.0), 1.0));
  return where(inside, core::log_binomial<T>(count, trials, probability) + last, core::log_of_zero);
}
TYTO_WIDE_CDF(NegativeBinomial) {
  const auto& [count, probability] = distribution;
  const T k = floor(x), inside = k >= 0.0;
  return where(inside, T(core::beta_below(count, where(inside, k, 0.0) + 1.0, probability, 1.0 - probability)), 0.0);
}

TYTO_SAMPLE(Poisson) {
  const Shape shape = drawn_shape(asked, rate);
  const T given = TYTO_CHECKED_WIDE(Poisson, rate, rate);
  return marked<T>({given}, core::poisson_draws<T>(shape, given, options));
}
TYTO_WIDE_LOG_PROB(Poisson) {
  const auto& [rate] = distribution;
  const T inside = is_count(x), k = where(inside, x, 0.0);
  return where(inside, core::log_poisson<T>(k, rate, k - rate), core::log_of_zero);
}
TYTO_WIDE_CDF(Poisson) {
  const auto& [rate] = distribution;
  const T k = floor(x), inside = k >= 0.0;
  return where(inside, T(core::gamma_above(where(inside, k, 0.0) + 1.0, rate)), 0.0);
}

TYTO_SAMPLE(Hypergeometric) {
  const Shape shape = drawn_shape(asked, good, bad, drawn);
  const T g = TYTO_CHECKED_WIDE(Hypergeometric, good, count), b = TYTO_CHECKED_WIDE(Hypergeometric, bad, count);
  const T n = TYTO_CHECKED_WIDE(Hypergeometric, drawn, count),
          all = core::checked<T>("Hypergeometric", "good + bad", g + b, core::limits::count);
  const T left = core::checked<T>("Hypergeometric", "good + bad - drawn", all - n, core::limits::not_negative);
  return marked<T>({left}, core::hypergeometric_draws<T>(shape, g, b, n, options));
}
TYTO_WIDE_LOG_PROB(Hypergeometric) {
  const auto& [good, bad, drawn] = distribution;
  return core::log_hypergeometric<T>(where(is_count(x), x, -1.0), good, bad, drawn);
}

namespace {

/// Probabilities along a last axis: weighted, at places that lie `steps` from `start` in the given direction.
template <class T>
T weighted_sum(const Hypergeometric<T>& distribution, const T& start, const T& direction, const T& steps,
               const T& weights) {
  const auto& [good, bad, drawn] = distribution;
  const T at = expand_dims(start, -1) + expand_dims(direction, -1) * steps;
  const T probability =
      exp(core::log_hypergeometric<T>(at, expand_dims(good, -1), expand_dims(bad, -1), expand_dims(drawn, -1)));
  return sum(probability * weights, -1);
}

// Terms of a tail that are added up: ten deviations of the first, from which on an integral takes their place.
constexpr std::int64_t terms = 1024;
constexpr double most_summed = 100;

/// The sum of the probabilities from `first` on in the given direction, away from the mean: the integral of their
/// smooth function from half a step before on, as far as it has not faded, and the ends of Euler and Maclaurin's
/// formula, of which differences take the place of derivatives.
template <class T>
T tail_integral(const Hypergeometric<T>& distribution, const T& first, const T& direction, const T& from_mean,
                const T& deviation) {
  const T edge = first - 0.5 * direction, length = sqrt(square(from_mean) + 80.0 * square(deviation)) - from_mean;
  const T area =
      length * weighted_sum<T>(distribution, edge, direction, expand_dims(length, -1) * core::quadrature_places<T>(),
                               core::quadrature_weights<T>());
  constexpr double one = 1.0 / 24, three = 17.0 / 5760;
  return area + weighted_sum<T>(distribution, first, direction, T{1.0, 0.0, -1.0, -2.0}.astype(DType::f64),
                                T::from(std::vector<double>{-three, one + 3 * three, -one - 3 * three, three}, {4}));
}

}  // namespace

TYTO_WIDE_CDF(Hypergeometric) {
  const auto& [good, bad, drawn] = distribution;
  const T all = maximum(good + bad, 1.0), mean = drawn * (good / all), k = floor(x), lower = k <= mean;
  const T direction = where(lower, -1.0, 1.0), first = where(lower, k, k + 1.0);
  const T deviation = sqrt(mean * (bad / all) * ((good + bad - drawn) / maximum(all - 1.0, 1.0)));
  const T summed = deviation <= most_summed;
  T tail;
  if (core::holds_now<T>(any(summed)).value_or(true)) {
    tail = weighted_sum<T>(distribution, first, direction, T::arange(0, terms, 1, DType::f64), T(1.0));
  }
  if (core::holds_now<T>(any(!summed)).value_or(true)) {
    const T wide_deviation = where(summed, most_summed, deviation), distance = abs(first - 0.5 * direction - mean);
    const T integral = tail_integral<T>(distribution, first, direction, distance, wide_deviation);
    tail = tail.defined() ? where(summed, tail, integral) : integral;
  }
  return clip(where(lower, tail, 1.0 - tail), 0.0, 1.0);
}

TYTO_INSTANTIATE_DISTRIBUTION(Bernoulli)
TYTO_INSTANTIATE_DISTRIBUTION(Binomial)
TYTO_INSTANTIATE_DISTRIBUTION(Geometric)
TYTO_INSTANTIATE_DISTRIBUTION(NegativeBinomial)
TYTO_INSTANTIATE_DISTRIBUTION(Poisson)
TYTO_INSTANTIATE_DISTRIBUTION(Hypergeometric)

}  // namespace distributions
}  // namespace TYTO_API
