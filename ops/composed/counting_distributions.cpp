// Distributions of integers: few of them by adding up probabilities, many by rejection.
#include <cmath>

#include "ops/composed/count_draws.hpp"
#include "ops/composed/count_probabilities.hpp"
#include "ops/composed/quadrature.hpp"
#include "ops/define.hpp"
#include "tyto/distributions.hpp"
#include "tyto/reduce.hpp"
#include "tyto/special.hpp"

namespace tyto TYTO_API {
namespace distributions {

using core::drawn_counts;
using core::drawn_shape;
using core::drawn_type;
using core::marked;
using core::most_counted;
using core::most_rate;
using core::open_draws;
using core::Parameters;
using core::Proposal;
using core::require_valid;
using core::split_options;
using core::uniform_draws;

namespace {

template <class T>
T is_count(const T& x) {
  return x >= 0.0 && equal(x, floor(x));
}

/// Hormann's transformed rejection: his numbers for the hat.
template <class T>
struct Hat {
  T a, b, centre, quick, height;
};
/// `log_ratio(k)`: the logarithm of the probability over what the hat's height is a multiple of.
template <class T, class F>
Proposal<T> hat_proposal(const Hat<T>& hat, const T& even, const T& v, const F& log_ratio) {
  const T u = even - 0.5, distance = 0.5 - abs(u);
  const T k = floor((2.0 * hat.a / distance + hat.b) * u + hat.centre);
  const T quick = distance >= 0.07 && v <= hat.quick;
  const T below = log(v * hat.height / (hat.a / square(distance) + hat.b)) <= log_ratio(k);
  return {k, k >= 0.0 && !(distance < 0.013 && v > distance) && (quick || below)};
}

/// Of a probability of at most a half.
template <class T>
struct BinomialLaw {
  static constexpr double low[] = {1, 0.5}, high[] = {100, 0.5};
  static constexpr std::int64_t rounds = 17;

  T mean(const Parameters<T>& given) const { return given[0] * given[1]; }
  T variance(const Parameters<T>& given) const { return given[0] * given[1] * (1.0 - given[1]); }
  T first(const Parameters<T>& given) const { return exp(given[0] * log1p(-given[1])); }
  template <class K>
  T ratio(const K& k, const Parameters<T>& given) const {
    return maximum(given[0] - k, 0.0) * (given[1] / ((k + 1.0) * (1.0 - given[1])));
  }
  T start(const Parameters<T>& given) const { return floor(mean(given) + 0.5); }
  Proposal<T> propose(const T& u, const T& v, const Parameters<T>& given) const {
    const T &n = given[0], &p = given[1], q = 1.0 - p, spread = sqrt(n * p * q), middle = floor((n + 1.0) * p);
    const T b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const Hat<T> hat{a, b, n * p + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread};
    const T highest = core::log_binomial<T>(middle, n, p);
    return hat_proposal<T>(hat, u, v, [&](const T& k) {
      const T inside = k >= 0.0 && k <= n, safe = where(inside, k, 0.0);
      return where(inside, core::log_binomial<T>(safe, n, p) - highest, core::log_of_zero);
    });
  }
};

template <class T>
struct PoissonLaw {
  static constexpr double low[] = {1}, high[] = {100};
  static constexpr std::int64_t rounds = 15;

  T mean(const Parameters<T>& given) const { return given[0]; }
  T variance(const Parameters<T>& given) const { return given[0]; }
  T first(const Parameters<T>& given) const { return exp(-given[0]); }
  template <class K>
  T ratio(const K& k, const Parameters<T>& given) const {
    return given[0] / (k + 1);
  }
  T start(const Parameters<T>& given) const { return floor(given[0]); }
  Proposal<T> propose(const T& u, const T& v, const Parameters<T>& given) const {
    const T &rate = given[0], b = 0.931 + 2.53 * sqrt(rate);
    const Hat<T> hat{-0.059 + 0.02483 * b, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2.0), 1.1239 + 1.1328 / (b - 3.4)};
    return hat_proposal<T>(hat, u, v, [&](const T& k) { return core::log_poisson<T>(k, rate); });
  }
};

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
  const T n = count.astype(DType::f64), p = probability.astype(DType::f64), turned = p > 0.5;
  const T valid = is_count(n) && n <= most_counted && p >= 0.0 && p <= 1.0;
  require_valid<T>(valid, "a binomial distribution needs a count up to 2^53 and a probability");
  const T drawn = drawn_counts<T>(BinomialLaw<T>{}, {n, where(turned, 1.0 - p, p)}, shape, options);
  const T found = clip(drawn, 0.0, n);
  return marked<T>(valid, where(turned, n - found, found));
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
  const T valid = r >= 0.0 && r <= most_rate && p > 0.0 && p <= 1.0;
  require_valid<T>(valid,
                   "a negative binomial distribution needs a count that is not negative, and a probability above 0");
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
  const T given = rate.astype(DType::f64), valid = given >= 0.0 && given <= most_rate;
  require_valid<T>(valid, "a Poisson distribution needs a rate from 0 to 2^62");
  return marked<T>(valid, drawn_counts<T>(PoissonLaw<T>{}, {given}, shape, options));
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

/// Of the rarer kind among at most half of all.
template <class T>
struct HypergeometricLaw {
  static constexpr double low[] = {1, 1, 1}, high[] = {100, 100, 50};
  static constexpr std::int64_t rounds = 29;

  T mean(const Parameters<T>& given) const { return given[2] * given[0] / maximum(given[0] + given[1], 1.0); }
  T variance(const Parameters<T>& given) const {
    const T all = given[0] + given[1];
    return mean(given) * (given[1] / maximum(all, 1.0)) * ((all - given[2]) / maximum(all - 1.0, 1.0));
  }
  T log_probability(const T& k, const Parameters<T>& given) const {
    return core::log_hypergeometric_draws<T>(k, given[0], given[1], given[2]);
  }
  T first(const Parameters<T>& given) const { return exp(log_probability(zeros_like(mean(given)), given)); }
  template <class K>
  T ratio(const K& k, const Parameters<T>& given) const {
    const T both = maximum(given[0] - k, 0.0) * maximum(given[2] - k, 0.0);
    return both / ((k + 1.0) * (given[1] - given[2] + (k + 1.0)));
  }
  T start(const Parameters<T>& given) const { return mode(given); }
  // Stadlober's ratio of uniforms: his numbers for the hat.
  Proposal<T> propose(const T& u, const T& v, const Parameters<T>& given) const {
    const T spread = sqrt(variance(given) + 0.5), width = 1.7155277699214135 * spread + 0.8989161620588988;
    const T k = floor(mean(given) + 0.5 + width * (v - 0.5) / u);
    return {k, 2.0 * log(u) <= log_probability(k, given) - log_probability(mode(given), given)};
  }

 private:
  T mode(const Parameters<T>& given) const {
    return floor((given[2] + 1.0) * (given[0] + 1.0) / (given[0] + given[1] + 2.0));
  }
};

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
  const T g = good.astype(DType::f64), b = bad.astype(DType::f64), n = drawn.astype(DType::f64), whole = g + b;
  const T valid = is_count(g) && is_count(b) && is_count(n) && n <= whole && whole <= most_counted;
  require_valid<T>(valid, "a hypergeometric distribution needs counts that are up to 2^53 together, and no more drawn");
  // How many of the rarer kind are taken or left, whichever are fewer.
  const T turned = g > b, rare = minimum(g, b), left = 2.0 * n > whole, taken = where(left, whole - n, n);
  const T counts = drawn_counts<T>(HypergeometricLaw<T>{}, {rare, maximum(g, b), taken}, shape, options);
  const T found = minimum(counts, minimum(rare, taken)), of_good = where(turned, taken - found, found);
  return marked<T>(valid, where(left, g - of_good, of_good));
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

namespace {

/// Devroye's rejection, of which each round accepts half or more.
template <class T>
struct ZipfProposals {
  static constexpr std::int64_t rounds = 32;

  T start(const Parameters<T>& given) const { return ones_like(given[0]); }
  Proposal<T> propose(const T& u, const T& v, const Parameters<T>& given) const {
    const T a = given[0] - 1.0, b = exp2(a);
    const T k = minimum(floor(exp(-log(u) / a)), 0x1p62), t = exp(a * log1p(1.0 / k));
    return {k, v * k * (t - 1.0) * b <= t * (b - 1.0)};
  }
};

}  // namespace

TYTO_SAMPLE(Zipf) {
  const Shape shape = drawn_shape(asked, exponent);
  return core::rejection_draws<T>(ZipfProposals<T>{}, {exponent.astype(DType::f64)}, shape, options).astype(DType::i64);
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
