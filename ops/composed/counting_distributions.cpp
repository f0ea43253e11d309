// Distributions of integers: few of them by adding up probabilities, many by rejection.
#include <cmath>

#include "ops/composed/distribution_draws.hpp"
#include "ops/composed/quadrature.hpp"
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
constexpr std::uint64_t ratio_rounds = 24;

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

/// The sum of (start + i)^-exponent over all i from 0 on, by Euler and Maclaurin's formula.
template <class T>
T zeta(const T& exponent, const T& start) {
  constexpr std::int64_t direct = 12;
  // Bernoulli numbers over factorials: B(2 j) / (2 j)!.
  constexpr double coefficients[] = {
      1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600};
  const T early = expand_dims(start, -1) + T::arange(0, direct, 1, DType::f64), w = start + direct;
  const T power = exp(-exponent * log(w));
  T found = sum(exp(-expand_dims(exponent, -1) * log(early)), -1) + power * (w / (exponent - 1.0) + 0.5);
  T factor = exponent * power / w;
  for (int j = 1; const double coefficient : coefficients) {
    found = found + coefficient * factor;
    factor = factor * (exponent + (2 * j - 1)) * (exponent + 2 * j) / square(w);
    ++j;
  }
  return found;
}

}  // namespace

TYTO_SAMPLE(Hypergeometric) {
  const Shape shape = drawn_shape(asked, good, bad, drawn);
  const auto given = [&](const T& parameter) { return broadcast_to(parameter.astype(DType::f64), shape); };
  const T g = given(good), b = given(bad), n = given(drawn), whole = g + b;
  // How many of the rarer kind are taken or left, whichever are fewer.
  const T turned = g > b, rare = minimum(g, b), common = maximum(g, b);
  const T left = 2.0 * n > whole, taken = where(left, whole - n, n);
  const T expected = taken * rare / maximum(whole, 1.0), small = expected < few;

  const T last = expand_dims(taken, -1), last_rare = expand_dims(rare, -1);
  const T lower = few_draws<T>(shape, split_options(options, 2 * ratio_rounds), [&](const T& k) {
    return log_hypergeometric<T>(k, last_rare, expand_dims(common, -1), last);
  });

  // Stadlober's ratio of uniforms: his numbers for the hat.
  const T r = where(small, 100.0, rare), c = where(small, 100.0, common), t = where(small, 50.0, taken), all = r + c;
  const T centre = t * r / all + 0.5, spread = sqrt((all - t) * t * r * c / (square(all) * (all - 1.0)) + 0.5);
  const T width = 1.7155277699214135 * spread + 0.8989161620588988;
  const T mode = floor((t + 1.0) * (r + 1.0) / (all + 2.0)), highest = log_hypergeometric<T>(mode, r, c, t);
  T upper = mode;
  for (std::uint64_t round = 0; round < ratio_rounds; ++round) {
    const T u = open_draws<T>(shape, DType::f64, split_options(options, 2 * round));
    const T v = uniform_draws<T>(shape, DType::f64, split_options(options, 2 * round + 1)) - 0.5;
    const T k = floor(centre + width * v / u);
    upper = where(2.0 * log(u) <= log_hypergeometric<T>(k, r, c, t) - highest, k, upper);
  }
  const T found = where(small, minimum(lower, minimum(rare, taken)), upper);
  const T of_good = where(turned, taken - found, found);
  return where(left, g - of_good, of_good).astype(DType::i64);
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

TYTO_SAMPLE(Zipf) {
  // Devroye's rejection, of which each round accepts half or more.
  constexpr std::uint64_t many = 32;
  const Shape shape = drawn_shape(asked, exponent);
  const T a = exponent.astype(DType::f64) - 1.0, b = exp2(a);
  T drawn = T::ones(shape, DType::f64);
  for (std::uint64_t round = 0; round < many; ++round) {
    const T u = open_draws<T>(shape, DType::f64, split_options(options, 2 * round));
    const T v = uniform_draws<T>(shape, DType::f64, split_options(options, 2 * round + 1));
    const T k = minimum(floor(exp(-log(u) / a)), 0x1p62), t = exp(a * log1p(1.0 / k));
    drawn = where(v * k * (t - 1.0) * b <= t * (b - 1.0), k, drawn);
  }
  return drawn.astype(DType::i64);
}
TYTO_LOG_PROB(Zipf) {
  const auto& [exponent] = distribution;
  const T given = x.astype(DType::f64), a = exponent.astype(DType::f64);
  const T inside = is_count(given) && given >= 1.0;
  const T found = -a * log(where(inside, given, 1.0)) - log(zeta<T>(a, ones_like(a)));
  return where(inside, found, core::log_of_zero).astype(core::common_float(x, exponent));
}
TYTO_CDF(Zipf) {
  const auto& [exponent] = distribution;
  const T a = exponent.astype(DType::f64), k = maximum(floor(x.astype(DType::f64)), 0.0);
  return (1.0 - zeta<T>(a + zeros_like(k), k + 1.0) / zeta<T>(a, ones_like(a))).astype(core::common_float(x, exponent));
}

TYTO_SAMPLE(LogSeries) {
  const Shape shape = drawn_shape(asked, probability);
  // Kemp's: geometric with a parameter that is drawn itself.
  const T u = uniform_draws<T>(shape, DType::f64, split_options(options, 0));
  const T v = open_draws<T>(shape, DType::f64, split_options(options, 1));
  const T q = -expm1(log1p(-probability.astype(DType::f64)) * u), possible = q > 0.0;
  const T trials = floor(1.0 + log(v) / log(where(possible, q, 0.5)));
  return where(possible, maximum(trials, 1.0), 1.0).astype(DType::i64);
}
TYTO_LOG_PROB(LogSeries) {
  const auto& [probability] = distribution;
  const T given = x.astype(DType::f64), p = probability.astype(DType::f64);
  const T inside = is_count(given) && given >= 1.0, k = where(inside, given, 1.0);
  return where(inside, k * log(p) - log(k) - log(-log1p(-p)), core::log_of_zero)
      .astype(core::common_float(x, probability));
}
TYTO_CDF(LogSeries) {
  // The terms above k are the integral of t^k / (1 - t) up to p, in which t is 1 - e^-s.
  const auto& [probability] = distribution;
  const T p = probability.astype(DType::f64), k = maximum(floor(x.astype(DType::f64)), 0.0);
  const T places = expand_dims(log1p(-p), -1) * core::quadrature_places<T>();
  const T above = sum(exp(expand_dims(k, -1) * log(-expm1(places))) * core::quadrature_weights<T>(), -1);
  return where(k > 0.0, 1.0 - above, 0.0).astype(core::common_float(x, probability));
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
  template struct Hypergeometric<Tensor<M>>;   \
  template struct Zipf<Tensor<M>>;             \
  template struct LogSeries<Tensor<M>>;        \
  template struct Categorical<Tensor<M>>;
TYTO_INSTANTIATE_DISTRIBUTIONS(Eager)
TYTO_INSTANTIATE_DISTRIBUTIONS(Lazy)
#undef TYTO_INSTANTIATE_DISTRIBUTIONS

}  // namespace distributions
}  // namespace TYTO_API
