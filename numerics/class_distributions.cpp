// SPDX-License-Identifier: MIT
// Distributions of integers that number classes: by a power, by a series, or by a table of logits.
#include "numerics/quadrature.hpp"
#include "numerics/rejection_draws.hpp"
#include "ops/define.hpp"
#include "tyto/distributions.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace distributions {

using core::drawn_shape;
using core::is_count;
using core::open_draws;
using core::Parameters;
using core::Proposal;
using core::split_options;
using core::uniform_draws;

namespace {

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

/// How many classes logits have, at least one.
template <class T>
std::int64_t classes_of(std::string_view op, const T& logits) {
  const std::int64_t classes = core::length_of(op, "classes", logits);
  if (classes != 0) return classes;
  core::throw_error<ShapeError>(op, ": no classes, the last axis of ", logits.shape(), " is empty");
}

}  // namespace

TYTO_SAMPLE(Zipf) {
  const Shape shape = drawn_shape(asked, exponent);
  const T a = TYTO_CHECKED_WIDE(Zipf, exponent, above_one);
  return core::marked<T>({a}, core::rejection_draws<T>(ZipfProposals<T>{}, {a}, shape, options));
}
TYTO_WIDE_LOG_PROB(Zipf) {
  const auto& [exponent] = distribution;
  const T inside = is_count(x) && x >= 1.0;
  const T found = -exponent * log(where(inside, x, 1.0)) - log(zeta<T>(exponent, ones_like(exponent)));
  return where(inside, found, core::log_of_zero);
}
TYTO_WIDE_CDF(Zipf) {
  const auto& [exponent] = distribution;
  const T k = maximum(floor(x), 0.0);
  return 1.0 - zeta<T>(exponent + zeros_like(k), k + 1.0) / zeta<T>(exponent, ones_like(exponent));
}

TYTO_SAMPLE(LogSeries) {
  const Shape shape = drawn_shape(asked, probability);
  const T p = TYTO_CHECKED_WIDE(LogSeries, probability, probability_below_one);
  // Kemp's: geometric with a parameter that is drawn itself.
  const T u = uniform_draws<T>(shape, DType::f64, split_options(options, 0));
  const T v = open_draws<T>(shape, DType::f64, split_options(options, 1));
  const T q = -expm1(log1p(-p) * u), possible = q > 0.0;
  const T trials = floor(1.0 + log(v) / log(where(possible, q, 0.5)));
  return core::marked<T>({p}, where(possible, maximum(trials, 1.0), 1.0));
}
TYTO_WIDE_LOG_PROB(LogSeries) {
  const auto& [probability] = distribution;
  const T inside = is_count(x) && x >= 1.0, k = where(inside, x, 1.0);
  return where(inside, k * log(probability) - log(k) - log(-log1p(-probability)), core::log_of_zero);
}
TYTO_WIDE_CDF(LogSeries) {
  // The terms above k are the integral of t^k / (1 - t) up to p, in which t is 1 - e^-s.
  const auto& [probability] = distribution;
  const T k = maximum(floor(x), 0.0), places = expand_dims(log1p(-probability), -1) * core::quadrature_places<T>();
  const T above = sum(exp(expand_dims(k, -1) * log(-expm1(places))) * core::quadrature_weights<T>(), -1);
  return where(k > 0.0, 1.0 - above, 0.0);
}

TYTO_SAMPLE(Categorical) {
  classes_of("sample", logits);
  const Shape shape = asked.value_or(Shape{});
  // NaN where a logit is.
  const T most = core::checked<T>("Categorical", "logits", max(logits, -1), core::limits::finite);
  const T draws = categorical(logits, element_count(shape), options);
  Shape result = shape;
  for (std::size_t i = 0; i + 1 < logits.shape().size(); ++i) result.push_back(logits.shape()[i]);
  return core::marked<T>({most}, reshape(moveaxis(draws, -1, 0), result));
}
template <class T>
T Categorical<T>::log_prob(const T& x) const {
  core::require("log_prob", logits, x);
  const auto again = [](const T& table, const T& at) { return Categorical<T>{table}.log_prob(at); };
  if (const auto found = core::in_f32(again, logits, x)) return *found;
  const std::int64_t classes = classes_of("log_prob", logits);
  const T inside = x >= 0 && x < classes && equal(x, floor(x));
  const T number = where(inside, x, 0).astype(DType::i64);
  Shape shape =
      core::broadcast("log_prob", number.shape(), Shape(std::span(logits.shape().begin(), logits.shape().end() - 1)));
  Shape stretched = shape;
  stretched.push_back(classes);
  const T table = broadcast_to(log_softmax(logits), stretched);
  const T found = squeeze(take_along_axis(table, expand_dims(broadcast_to(number, shape), -1), -1), -1);
  return core::density_at(x, where(inside, found, core::log_of_zero));
}
template <class T>
T Categorical<T>::cdf(const T& x) const {
  core::require("cdf", logits, x);
  const auto again = [](const T& table, const T& at) { return Categorical<T>{table}.cdf(at); };
  if (const auto found = core::in_f32(again, logits, x)) return *found;
  const T below = expand_dims(x, -1) >= T(core::arange_like(logits, classes_of("cdf", logits)));
  return core::probability_at(x, sum(where(below, softmax(logits), 0.0), -1));
}

TYTO_INSTANTIATE_DISTRIBUTION(Zipf)
TYTO_INSTANTIATE_DISTRIBUTION(LogSeries)
TYTO_INSTANTIATE_DISTRIBUTION(Categorical)

}  // namespace distributions
}  // namespace TYTO_API
