// SPDX-License-Identifier: MIT
// Distributions whose densities and distribution functions are sums or integrals, computed in f64 along an axis of
// their own: terms are positive, so nothing cancels, and gradients with respect to every operand come from the sums.
#include <limits>
#include <numbers>

#include "numerics/count_laws.hpp"
#include "numerics/quadrature.hpp"
#include "ops/define.hpp"
#include "tyto/distributions.hpp"
#include "tyto/reduce.hpp"
#include "tyto/special.hpp"

namespace tyto TYTO_API {
namespace distributions {

using core::common_float;
using core::drawn_shape;
using core::drawn_type;
using core::split_options;
using core::wide;

namespace {

constexpr double pi = std::numbers::pi;

/// The integral of e^(concentration (cos t - 1)) from 0 to `end`, which is pi away at most: up to where it has faded.
template <class T>
T circular_area(const T& concentration, const T& end) {
  const T farthest = 12.0 * rsqrt(maximum(concentration, 0.5)), reach = clip(end, -farthest, farthest);
  const T half = 0.5 * expand_dims(reach, -1) * core::quadrature_places<T>();
  const T height = exp(-2.0 * expand_dims(concentration, -1) * square(sin(half)));
  return reach * sum(height * core::quadrature_weights<T>(), -1);
}

/// The integral of the density from the mean to `turned` radians from it, whole turns counting one each.
template <class T>
T circular_distance(const T& concentration, const T& turned) {
  const T turns = round(turned * (0.5 / pi)), rest = turned - 2 * pi * turns;
  const T k = concentration + zeros_like(rest);
  return turns + 0.5 * circular_area<T>(k, clip(rest, -pi, pi)) / circular_area<T>(k, T(pi));
}

// Terms of a sum over Poisson probabilities that are taken round the largest: eight deviations of 1,000.
constexpr std::int64_t window = 512;
constexpr double most_noncentral = 2000;

/// Beyond it the window is too short: NaN instead of a sum that lacks its ends.
template <class T>
T within_window(const T& noncentrality, const T& found) {
  return where(noncentrality <= most_noncentral, found, std::numeric_limits<double>::quiet_NaN());
}

/// The numbers of these terms, along a last axis.
template <class T>
T term_numbers(const T& largest) {
  return expand_dims(maximum(floor(largest) - window / 2, 0.0), -1) + T::arange(0, window, 1, DType::f64);
}

template <class T>
T log_poisson(const T& k, const T& rate) {
  return k * log(maximum(rate, 1e-300)) - rate - lgamma(k + 1.0);
}

/// The probability of x or less of a distribution that is `parts[j]` with Poisson probability j: each part is the one
/// after it and `step`, and `last` comes after the window.
template <class T>
T mixed_cdf(const T& j, const T& half_noncentrality, const T& log_step, const T& last) {
  const T chosen = cumsum(exp(log_poisson<T>(j, expand_dims(half_noncentrality, -1))), -1);
  return clip(sum(chosen * exp(log_step), -1) + chosen(ellipsis, -1) * last, 0.0, 1.0);
}

}  // namespace

namespace {

/// 1 - cos of an angle to the mean, by Best and Fisher's rejection: of each round two of three are accepted or more.
template <class T>
struct CircularFall {
  static constexpr std::int64_t rounds = 22;

  T start(const core::Parameters<T>& given) const { return where(isnan(given[0]), given[0], 0.0); }
  core::Proposal<T> propose(const T& u, const T& v, const core::Parameters<T>& given) const {
    const T &k = given[0], s = sqrt(1.0 + 4.0 * square(k)), root = sqrt(2.0 * (1.0 + s));
    const T gap = (root - 1.0 - 1.0 / (2.0 * k + s)) / (2.0 * k), rho = 1.0 - gap;
    const T excess = 0.5 * square(gap) / rho;          // of r over 1
    const T fall = 2.0 * square(sin(u * (0.5 * pi)));  // 1 - cos
    const T g = excess * fall / (2.0 + excess - fall), c = k * (excess + g);
    return {g, log(c) - log(v) + 1.0 - c >= 0.0};
  }
};

}  // namespace

TYTO_SAMPLE(VonMises) {
  const Shape shape = drawn_shape(asked, mean, concentration);
  // A concentration below 1e-4 is drawn as that: the densities differ by as much.
  const T k = TYTO_CHECKED_WIDE(VonMises, concentration, not_negative);
  const T fall = core::rejection_draws<T>(CircularFall<T>{}, {maximum(k, 1e-4)}, shape, options);
  const auto next = static_cast<std::uint64_t>(2 * CircularFall<T>::rounds);
  const T side = core::uniform_draws<T>(shape, DType::f64, split_options(options, next)) - 0.5;
  const T angle = 2.0 * asin(sqrt(minimum(0.5 * fall, 1.0))), turned = wide(mean) + where(side < 0.0, -angle, angle);
  return (turned - 2 * pi * round(turned * (0.5 / pi))).astype(drawn_type(mean, concentration));
}
TYTO_LOG_PROB(VonMises) {
  const auto& [mean, concentration] = distribution;
  const T k = wide(concentration), scale = 2.0 * circular_area<T>(k, broadcast_to(T(pi).astype(DType::f64), k.shape()));
  return (-2.0 * k * square(sin(0.5 * (wide(x) - wide(mean)))) - log(scale))
      .astype(common_float(x, mean, concentration));
}
TYTO_CDF(VonMises) {
  const auto& [mean, concentration] = distribution;
  const T k = wide(concentration), m = wide(mean), at = clip(wide(x), -pi, pi);
  return (circular_distance<T>(k, at - m) - circular_distance<T>(k, -pi - m))
      .astype(common_float(x, mean, concentration));
}

namespace {

template <class T>
T noncentral_draws(const Shape& shape, const T& freedom, const T& noncentrality, const DrawOptions& options) {
  const T pairs = core::poisson_draws<T>(shape, wide(0.5 * noncentrality), split_options(options, 0));
  return core::chi_squared_draws<T>(shape, freedom + 2.0 * pairs.astype(drawn_type(freedom, noncentrality)),
                                    split_options(options, 1));
}

}  // namespace

TYTO_SAMPLE(NoncentralChiSquared) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const Shape shape = drawn_shape(asked, freedom, noncentrality);
  return noncentral_draws<T>(shape, TYTO_CHECKED(NoncentralChiSquared, freedom, positive),
                             TYTO_CHECKED(NoncentralChiSquared, noncentrality, rate), options);
}
TYTO_LOG_PROB(NoncentralChiSquared) {
  const auto& [freedom, noncentrality] = distribution;
  const T inside = x >= 0.0, y = 0.5 * wide(T(where(inside, x, 1.0))), a = 0.5 * wide(freedom),
          h = 0.5 * wide(noncentrality);
  const T j = term_numbers<T>(0.5 * (1.0 - a + sqrt(square(a - 1.0) + 4.0 * h * y))), shape = expand_dims(a, -1) + j;
  const T high = expand_dims(y, -1);
  const T terms = log_poisson<T>(j, expand_dims(h, -1)) + core::times_log<T>(shape - 1.0, high) - high - lgamma(shape);
  const T found = logsumexp(terms, -1) - std::numbers::ln2;
  return within_window<T>(noncentrality, where(inside, found, core::log_of_zero))
      .astype(common_float(x, freedom, noncentrality));
}
TYTO_CDF(NoncentralChiSquared) {
  const auto& [freedom, noncentrality] = distribution;
  const T inside = x > 0.0, y = 0.5 * wide(T(where(inside, x, 1.0))), a = 0.5 * wide(freedom),
          h = 0.5 * wide(noncentrality);
  const T j = term_numbers<T>(h), shape = expand_dims(a, -1) + j, high = expand_dims(y, -1);
  const T after = gammainc(T(shape(ellipsis, -1) + 1.0 + zeros_like(y)), y);
  const T found = mixed_cdf<T>(j, h, shape * log(high) - high - lgamma(shape + 1.0), after);
  return within_window<T>(noncentrality, where(inside, found, 0.0)).astype(common_float(x, freedom, noncentrality));
}

TYTO_SAMPLE(NoncentralF) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const Shape shape = drawn_shape(asked, numerator, denominator, noncentrality);
  const T a = TYTO_CHECKED(NoncentralF, numerator, positive), b = TYTO_CHECKED(NoncentralF, denominator, positive);
  const T pull = TYTO_CHECKED(NoncentralF, noncentrality, rate);
  const T above = noncentral_draws<T>(shape, a, pull, split_options(options, 0)) / a;
  return above / (core::chi_squared_draws<T>(shape, b, split_options(options, 1)) / b);
}

namespace {

/// Shared by density and distribution function of the noncentral F distribution.
template <class T>
struct FisherTerms {
  T inside, x, a, b, half_noncentrality, log_part, log_rest, part, whole;

  FisherTerms(const NoncentralF<T>& distribution, const T& given, const T& support)
      : inside(support),
        x(wide(T(where(inside, given, 1.0)))),
        a(0.5 * wide(distribution.numerator)),
        b(0.5 * wide(distribution.denominator)),
        half_noncentrality(0.5 * wide(distribution.noncentrality)) {
    whole = a * x + b;
    log_part = log(a * x) - log(whole);
    log_rest = log(b) - log(whole);
    part = a * x / whole;
  }
  /// Logarithm of part^(a + j) rest^b over the beta function of a + j and b.
  T log_term(const T& shape) const {
    const T second = expand_dims(b, -1);
    return shape * expand_dims(log_part, -1) + second * expand_dims(log_rest, -1) + lgamma(shape + second) -
           lgamma(shape) - lgamma(second);
  }
  /// The same over x, which may be zero.
  T log_slope(const T& shape) const {
    const T second = expand_dims(b, -1);
    return core::times_log<T>(shape - 1.0, expand_dims(part, -1)) + expand_dims(log(a / whole), -1) +
           second * expand_dims(log_rest, -1) + lgamma(shape + second) - lgamma(shape) - lgamma(second);
  }
};

}  // namespace

TYTO_LOG_PROB(NoncentralF) {
  const FisherTerms<T> f(distribution, x, x >= 0.0);
  const T pull = f.half_noncentrality * f.part, middle = f.a - 1.0 - pull;
  const T largest = 0.5 * (sqrt(maximum(square(middle) + 4.0 * pull * (f.a + f.b - 1.0), 0.0)) - middle);
  const T j = term_numbers<T>(largest), shape = expand_dims(f.a, -1) + j;
  const T found = logsumexp(log_poisson<T>(j, expand_dims(f.half_noncentrality, -1)) + f.log_slope(shape), -1);
  const auto& [numerator, denominator, noncentrality] = distribution;
  return within_window<T>(noncentrality, where(f.inside, found, core::log_of_zero))
      .astype(common_float(x, numerator, denominator, noncentrality));
}
TYTO_CDF(NoncentralF) {
  const FisherTerms<T> f(distribution, x, x > 0.0);
  const T j = term_numbers<T>(f.half_noncentrality), shape = expand_dims(f.a, -1) + j;
  const T after = betainc(T(shape(ellipsis, -1) + 1.0 + zeros_like(f.part)), f.b, f.part);
  const T found = mixed_cdf<T>(j, f.half_noncentrality, f.log_term(shape) - log(shape), after);
  const auto& [numerator, denominator, noncentrality] = distribution;
  return within_window<T>(noncentrality, where(f.inside, found, 0.0))
      .astype(common_float(x, numerator, denominator, noncentrality));
}

TYTO_INSTANTIATE_DISTRIBUTION(VonMises)
TYTO_INSTANTIATE_DISTRIBUTION(NoncentralChiSquared)
TYTO_INSTANTIATE_DISTRIBUTION(NoncentralF)

}  // namespace distributions
}  // namespace TYTO_API
