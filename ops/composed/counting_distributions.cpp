// Distributions of whole numbers: few of them by adding up probabilities, many by rejection.
#include <cmath>

#include "ops/composed/distribution_draws.hpp"
#include "ops/define.hpp"
#include "tyto/distributions.hpp"
#include "tyto/reduce.hpp"
#include "tyto/special.hpp"

namespace tyto TYTO_API {
namespace distributions {

using core::drawn_shape;
using core::drawn_type;
using core::open_draws;
using core::split_options;
using core::uniform_draws;

namespace {

// Of distributions with a mean below `few` practically nothing lies beyond `enough`.
constexpr double few = 12;
constexpr std::int64_t enough = 64;
constexpr std::uint64_t rounds = 12;

template <class T>
T is_count(const T& x) {
  return x >= 0.0 && equal(x, floor(x));
}

/// Draws by the inverse: how many of the running sums of probabilities stay below an even draw. `log_probability` takes
/// 0, 1, ... along a last axis.
template <class T, class F>
T few_draws(const Shape& shape, const DrawOptions& options, const F& log_probability) {
  const T u = uniform_draws<T>(shape, DType::f64, options);
  const T running = cumsum(exp(log_probability(T::arange(0, enough, 1, DType::f64))), -1);
  return sum(expand_dims(u, -1) >= running, -1).astype(DType::f64);
}

/// Hormann's transformed rejection: his numbers for the hat, and the logarithm of the probability over its hat's
/// height.
template <class T>
struct Hat {
  T a, b, centre, quick, height;
};
template <class T, class F>
T many_draws(const Shape& shape, const DrawOptions& options, const Hat<T>& hat, const F& log_probability) {
  T drawn = broadcast_to(floor(hat.centre), shape);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const T u = uniform_draws<T>(shape, DType::f64, split_options(options, 2 * round)) - 0.5;
    const T v = open_draws<T>(shape, DType::f64, split_options(options, 2 * round + 1));
    const T distance = maximum(0.5 - abs(u), 1e-9);
    const T k = floor((2.0 * hat.a / distance + hat.b) * u + hat.centre);
    const T quick = distance >= 0.07 && v <= hat.quick;
    const T below = log(v * hat.height / (hat.a / square(distance) + hat.b)) <= log_probability(k);
    const T possible = k >= 0.0 && !(distance < 0.013 && v > distance);
    drawn = where(possible && (quick || below), k, drawn);
  }
  return drawn;
}

}  // namespace

TYTO_SAMPLE(Bernoulli) {
  const T u = uniform_draws<T>(drawn_shape(asked, probability), drawn_type(probability), options);
  return (u < probability).astype(DType::i64);
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
  const T n = broadcast_to(count.astype(DType::f64), shape),
          given = broadcast_to(probability.astype(DType::f64), shape);
  const T turned = given > 0.5, p = where(turned, 1.0 - given, given), q = 1.0 - p;
  const T small = n * p < few;

  const T few_n = expand_dims(where(small, n, 1.0), -1), few_p = expand_dims(where(small, p, 0.5), -1);
  const T lower = few_draws<T>(shape, split_options(options, 2 * rounds), [&](const T& k) {
    const T inside = k <= few_n, rest = where(inside, few_n - k, 0.0);
    const T log_p = log(maximum(few_p, 1e-300));
    return where(inside, lgamma(few_n + 1.0) - lgamma(k + 1.0) - lgamma(rest + 1.0) + k * log_p + rest * log1p(-few_p),
                 core::log_of_zero);
  });

  const T spread = sqrt(where(small, few, n * p * q)), odds = where(small, 1.0, p / q);
  const T b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p, middle = floor((n + 1.0) * p);
  const Hat<T> hat{a, b, n * p + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread};
  const T upper = many_draws<T>(shape, options, hat, [&](const T& k) {
    const T inside = k >= 0.0 && k <= n, safe = where(inside, k, 0.0);
    const T ratio = lgamma(middle + 1.0) + lgamma(n - middle + 1.0) - lgamma(safe + 1.0) - lgamma(n - safe + 1.0) +
                    (safe - middle) * log(odds);
    return where(inside, ratio, core::log_of_zero);
  });
  const T drawn = clip(where(small, minimum(lower, n), upper), 0.0, n);
  return where(turned, n - drawn, drawn).astype(DType::i64);
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
  const T u = uniform_draws<T>(drawn_shape(asked, probability), DType::f64, options);
  const T p = probability.astype(DType::f64);
  return where(p < 1.0, maximum(ceil(log1p(-u) / log1p(-where(p < 1.0, p, 0.5))), 1.0), 1.0).astype(DType::i64);
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
  const T p = probability.astype(DType::f64), r = count.astype(DType::f64);
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
  const T given = broadcast_to(rate.astype(DType::f64), shape), small = given < few;
  const T low = expand_dims(where(small, given, 1.0), -1), log_low = log(maximum(low, 1e-300));
  const T lower = few_draws<T>(shape, split_options(options, 2 * rounds),
                               [&](const T& k) { return k * log_low - low - lgamma(k + 1.0); });
  const T high = where(small, few, given), log_high = log(high);
  const T b = 0.931 + 2.53 * sqrt(high);
  const Hat<T> hat{-0.059 + 0.02483 * b, b, high + 0.43, 0.9277 - 3.6224 / (b - 2.0), 1.1239 + 1.1328 / (b - 3.4)};
  const T upper = many_draws<T>(shape, options, hat, [&](const T& k) {
    const T safe = maximum(k, 0.0);
    return safe * log_high - high - lgamma(safe + 1.0);
  });
  return where(small, lower, upper).astype(DType::i64);
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

TYTO_SAMPLE(Categorical) {
  core::require("sample", logits);
  const Shape shape = asked.value_or(Shape{});
  const T draws = categorical(logits, element_count(shape), options);
  Shape result = shape;
  for (std::size_t i = 0; i + 1 < logits.shape().size(); ++i) result.push_back(logits.shape()[i]);
  return reshape(moveaxis(draws, -1, 0), result);
}
template <class T>
T Categorical<T>::log_prob(const T& x) const {
  core::require("log_prob", logits, x);
  const std::int64_t classes = logits.shape().back();
  const T inside = x >= 0 && x < classes && equal(x, floor(x));
  const T number = where(inside, x, 0).astype(DType::i64);
  Shape shape =
      core::broadcast("log_prob", number.shape(), Shape(std::span(logits.shape().begin(), logits.shape().end() - 1)));
  Shape stretched = shape;
  stretched.push_back(classes);
  const T table = broadcast_to(log_softmax(logits), stretched);
  const T found = squeeze(take_along_axis(table, expand_dims(broadcast_to(number, shape), -1), -1), -1);
  return where(inside, found, core::log_of_zero);
}
template <class T>
T Categorical<T>::cdf(const T& x) const {
  core::require("cdf", logits, x);
  const T below = expand_dims(x, -1) >= T::arange(logits.shape().back());
  return sum(where(below, softmax(logits), 0.0), -1);
}

#define TYTO_INSTANTIATE_DISTRIBUTIONS(M)      \
  template struct Bernoulli<Tensor<M>>;        \
  template struct Binomial<Tensor<M>>;         \
  template struct Geometric<Tensor<M>>;        \
  template struct NegativeBinomial<Tensor<M>>; \
  template struct Poisson<Tensor<M>>;          \
  template struct Categorical<Tensor<M>>;
TYTO_INSTANTIATE_DISTRIBUTIONS(Eager)
TYTO_INSTANTIATE_DISTRIBUTIONS(Lazy)
#undef TYTO_INSTANTIATE_DISTRIBUTIONS

}  // namespace distributions
}  // namespace TYTO_API
