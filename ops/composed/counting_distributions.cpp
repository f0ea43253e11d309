// Distributions of counts of events: successes among trials, trials up to a success, good ones among those drawn.
#include <cmath>

#include "ops/composed/count_laws.hpp"
#include "ops/define.hpp"
#include "tyto/distributions.hpp"
#include "tyto/reduce.hpp"
#include "tyto/special.hpp"

namespace tyto TYTO_API {
namespace distributions {

using core::drawn_shape;
using core::drawn_type;
using core::is_count;
using core::marked;
using core::split_options;
using core::uniform_draws;
using core::wide;

TYTO_SAMPLE(Bernoulli) {
  const T p = TYTO_CHECKED(Bernoulli, probability, probability);
  const T u = uniform_draws<T>(drawn_shape(asked, probability), drawn_type(probability), options);
  return marked<T>({p}, u < p);
}
TYTO_LOG_PROB(Bernoulli) {
  const auto& [probability] = distribution;
  const T zero = equal(x, 0), one = equal(x, 1);
  return where(one, log(probability), where(zero, log1p(-probability), core::log_of_zero));
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
TYTO_LOG_PROB(Binomial) {
  const auto& [count, probability] = distribution;
  const T given = core::as_floating(core::resolve(x)), n = count.astype(given.dtype());
  const T inside = is_count(given) && given <= n, k = where(inside, given, 0.0), rest = n - k;
  // 0 log 0 is 0.
  const T successes = where(equal(k, 0.0), 0.0, k * log(probability));
  const T failures = where(equal(rest, 0.0), 0.0, rest * log1p(-probability));
  return where(inside, lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(rest + 1.0) + successes + failures,
               core::log_of_zero);
}
TYTO_CDF(Binomial) {
  const auto& [count, probability] = distribution;
  const T given = core::as_floating(core::resolve(x)), n = count.astype(given.dtype()), k = floor(given);
  const T inside = k >= 0.0 && k < n, safe = where(inside, k, 0.0);
  const T trials = where(inside, n, 1.0);
  return where(inside, betainc(T(trials - safe), safe + 1.0, 1.0 - probability), where(k < 0.0, 0.0, 1.0));
}

TYTO_SAMPLE(Geometric) {
  const T p = TYTO_CHECKED_WIDE(Geometric, probability, probability_above_zero);
  const T u = uniform_draws<T>(drawn_shape(asked, probability), DType::f64, options);
  return marked<T>({p}, where(p < 1.0, maximum(ceil(log1p(-u) / log1p(-where(p < 1.0, p, 0.5))), 1.0), 1.0));
}
TYTO_LOG_PROB(Geometric) {
  const auto& [probability] = distribution;
  const T given = core::as_floating(core::resolve(x)), inside = is_count(given) && given >= 1.0;
  const T failures = where(inside, given - 1.0, 0.0);
  return where(inside, where(equal(failures, 0.0), 0.0, failures * log1p(-probability)) + log(probability),
               core::log_of_zero);
}
TYTO_CDF(Geometric) {
  const auto& [probability] = distribution;
  const T given = core::as_floating(core::resolve(x));
  const T trials = maximum(floor(given), 0.0);
  return where(equal(trials, 0.0), 0.0, -expm1(trials * log1p(-probability)));
}

TYTO_SAMPLE(NegativeBinomial) {
  const Shape shape = drawn_shape(asked, count, probability);
  const T r = TYTO_CHECKED_WIDE(NegativeBinomial, count, rate);
  const T p = TYTO_CHECKED_WIDE(NegativeBinomial, probability, probability_above_zero);
  // Failures come as often as a Poisson whose rate is gamma distributed.
  const T rate = core::gamma_draws<T>(shape, r, split_options(options, 0)) * ((1.0 - p) / p);
  return Poisson<T>{rate}.sample(shape, split_options(options, 1));
}
TYTO_LOG_PROB(NegativeBinomial) {
  const auto& [count, probability] = distribution;
  const T given = core::as_floating(core::resolve(x)), r = count.astype(given.dtype());
  const T inside = is_count(given), k = where(inside, given, 0.0);
  const T failures = where(equal(k, 0.0), 0.0, k * log1p(-probability));
  return where(inside, lgamma(k + r) - lgamma(r) - lgamma(k + 1.0) + r * log(probability) + failures,
               core::log_of_zero);
}
TYTO_CDF(NegativeBinomial) {
  const auto& [count, probability] = distribution;
  const T given = core::as_floating(core::resolve(x)), k = floor(given), inside = k >= 0.0;
  const T r = count.astype(given.dtype()) + zeros_like(given);
  return where(inside, betainc(r, where(inside, k, 0.0) + 1.0, probability), 0.0);
}

TYTO_SAMPLE(Poisson) {
  const Shape shape = drawn_shape(asked, rate);
  const T given = TYTO_CHECKED_WIDE(Poisson, rate, rate);
  return marked<T>({given}, core::poisson_draws<T>(shape, given, options));
}
TYTO_LOG_PROB(Poisson) {
  const auto& [rate] = distribution;
  const T given = core::as_floating(core::resolve(x)), inside = is_count(given), k = where(inside, given, 0.0);
  return where(inside, where(equal(k, 0.0), 0.0, k * log(rate)) - rate - lgamma(k + 1.0), core::log_of_zero);
}
TYTO_CDF(Poisson) {
  const auto& [rate] = distribution;
  const T given = core::as_floating(core::resolve(x)), k = floor(given), inside = k >= 0.0;
  return where(inside, 1.0 - gammainc(T(where(inside, k, 0.0) + 1.0), rate), 0.0);
}

namespace {

template <class T>
T log_choose(const T& n, const T& k) {
  return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

/// The logarithm of the probability of k good ones among `drawn`; minus infinity where that cannot be.
template <class T>
T log_hypergeometric(const T& k, const T& good, const T& bad, const T& drawn) {
  const T inside = k >= maximum(drawn - bad, 0.0) && k <= minimum(good, drawn);
  const T safe = where(inside, k, maximum(drawn - bad, 0.0));
  return where(inside, log_choose<T>(good, safe) + log_choose<T>(bad, drawn - safe) - log_choose<T>(good + bad, drawn),
               core::log_of_zero);
}

}  // namespace

TYTO_SAMPLE(Hypergeometric) {
  const Shape shape = drawn_shape(asked, good, bad, drawn);
  const T g = TYTO_CHECKED_WIDE(Hypergeometric, good, count), b = TYTO_CHECKED_WIDE(Hypergeometric, bad, count);
  const T n = TYTO_CHECKED_WIDE(Hypergeometric, drawn, count),
          all = core::checked<T>("Hypergeometric", "good + bad", g + b, core::limits::count);
  const T left = core::checked<T>("Hypergeometric", "good + bad - drawn", all - n, core::limits::not_negative);
  return marked<T>({left}, core::hypergeometric_draws<T>(shape, g, b, n, options));
}
TYTO_LOG_PROB(Hypergeometric) {
  const auto& [good, bad, drawn] = distribution;
  const T k = x.astype(DType::f64), whole = is_count(k);
  const T found = log_hypergeometric<T>(where(whole, k, -1.0), good.astype(DType::f64), bad.astype(DType::f64),
                                        drawn.astype(DType::f64));
  return found.astype(core::common_float(x, good, bad, drawn));
}
TYTO_CDF(Hypergeometric) {
  // Terms of the tail that has fewer: nine deviations of 48,000 draws.
  constexpr std::int64_t terms = 1024;
  const auto& [good, bad, drawn] = distribution;
  const T g = good.astype(DType::f64), b = bad.astype(DType::f64), n = drawn.astype(DType::f64);
  const T k = floor(x.astype(DType::f64)), lower = k <= n * g / maximum(g + b, 1.0);
  const T step = T::arange(0, terms, 1, DType::f64), at = expand_dims(k, -1);
  const T tail = sum(exp(log_hypergeometric<T>(where(expand_dims(lower, -1), at - step, at + 1.0 + step),
                                               expand_dims(g, -1), expand_dims(b, -1), expand_dims(n, -1))),
                     -1);
  return clip(where(lower, tail, 1.0 - tail), 0.0, 1.0).astype(core::common_float(x, good, bad, drawn));
}

#define TYTO_INSTANTIATE_DISTRIBUTIONS(M)      \
  template struct Bernoulli<Tensor<M>>;        \
  template struct Binomial<Tensor<M>>;         \
  template struct Geometric<Tensor<M>>;        \
  template struct NegativeBinomial<Tensor<M>>; \
  template struct Poisson<Tensor<M>>;          \
  template struct Hypergeometric<Tensor<M>>;
TYTO_INSTANTIATE_DISTRIBUTIONS(Eager)
TYTO_INSTANTIATE_DISTRIBUTIONS(Lazy)
#undef TYTO_INSTANTIATE_DISTRIBUTIONS

}  // namespace distributions
}  // namespace TYTO_API
