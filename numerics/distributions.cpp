// SPDX-License-Identifier: MIT
// Distributions with inverses or densities in closed form: samples are functions of uniform or normal draws.
#include "tyto/distributions.hpp"

#include <cmath>
#include <numbers>

#include "numerics/count_probabilities.hpp"
#include "numerics/incomplete.hpp"
#include "ops/define.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/special.hpp"

namespace tyto TYTO_API {
namespace distributions {

using core::drawn_shape;
using core::drawn_type;
using core::normal_draws;
using core::uniform_draws;

namespace {

constexpr double log_of_root_two_pi = 0.91893853320467274178;
constexpr double half_log_of_two_over_pi = -0.22579135264472743236;

template <class T>
T normal_cdf(const T& x) {
  return 0.5 * erfc(x * -std::numbers::sqrt2 * 0.5);
}

/// The logarithm of a density that is 0 outside of its support; inside of it, `x` is where it is computed.
template <class T>
T supported(const T& inside, const T& log_density) {
  return where(inside, log_density, core::log_of_zero);
}

/// x^(a - 1) y^(b - 1) / B(a, b), where x + y = 1.
template <class T>
T log_beta_density(const T& a, const T& b, const T& x, const T& y) {
  const T k = a - 1.0, m = b - 1.0, large = k + m >= core::many;
  const T split =
      core::log_split<T>(where(large, k, 8.0), where(large, m, 8.0), where(large, x, 0.5), where(large, y, 0.5)) +
      log(where(large, k + m, 16.0) + 1.0);
  const T p = where(large, 1.0, a), q = where(large, 1.0, b);
  const T powers =
      core::times_log<T>(p - 1.0, where(large, 0.5, x)) + core::times_log<T>(q - 1.0, where(large, 0.5, y));
  return where(large, split, powers + lgamma(p + q) - lgamma(p) - lgamma(q));
}

/// log(Gamma(h + 1/2) / Gamma(h)).
template <class T>
T log_gamma_half_step(const T& h) {
  const T large = h >= core::many, low = where(large, 1.0, h), high = where(large, h, core::many);
  const T r = 1.0 / high, w = r * r;
  const T series =
      0.5 * log(high) - r * (1.0 / 8 - w * (1.0 / 192 - w * (1.0 / 640 - w * (17.0 / 14336 - w * (31.0 / 18432)))));
  return where(large, series, lgamma(low + 0.5) - lgamma(low));
}

}  // namespace

TYTO_SAMPLE(Normal) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T spread = TYTO_CHECKED(Normal, stddev, not_negative);
  return mean + spread * normal_draws<T>(drawn_shape(asked, mean, stddev), drawn_type(mean, stddev), options);
}
TYTO_LOG_PROB(Normal) {
  const auto& [mean, stddev] = distribution;
  return -0.5 * square((x - mean) / stddev) - log(stddev) - log_of_root_two_pi;
}
TYTO_CDF(Normal) {
  const auto& [mean, stddev] = distribution;
  return normal_cdf(T((x - mean) / stddev));
}

TYTO_SAMPLE(LogNormal) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T spread = TYTO_CHECKED(LogNormal, stddev, not_negative);
  return exp(mean + spread * normal_draws<T>(drawn_shape(asked, mean, stddev), drawn_type(mean, stddev), options));
}
TYTO_LOG_PROB(LogNormal) {
  const auto& [mean, stddev] = distribution;
  const T inside = x > 0.0, safe = where(inside, x, 1.0);
  return supported(inside, T(Normal<T>{mean, stddev}.log_prob(log(safe)) - log(safe)));
}
TYTO_CDF(LogNormal) {
  const auto& [mean, stddev] = distribution;
  const T inside = x > 0.0;
  return where(inside, Normal<T>{mean, stddev}.cdf(log(where(inside, x, 1.0))), 0.0);
}

TYTO_SAMPLE(HalfNormal) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T spread = TYTO_CHECKED(HalfNormal, scale, not_negative);
  return abs(spread * normal_draws<T>(drawn_shape(asked, scale), drawn_type(scale), options));
}
TYTO_LOG_PROB(HalfNormal) {
  const auto& [scale] = distribution;
  return supported(T(x >= 0.0), T(half_log_of_two_over_pi - log(scale) - 0.5 * square(x / scale)));
}
TYTO_CDF(HalfNormal) {
  const auto& [scale] = distribution;
  return where(x > 0.0, erf(x / scale * (std::numbers::sqrt2 * 0.5)), 0.0);
}

TYTO_SAMPLE(Uniform) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  core::require("sample", low, high);
  const T width = TYTO_CHECKED(Uniform, high - low, length);
  return low + width * uniform_draws<T>(drawn_shape(asked, low, high), drawn_type(low, high), options);
}
TYTO_LOG_PROB(Uniform) {
  const auto& [low, high] = distribution;
  return supported(T(x >= low && x <= high), T(zeros_like(x) - log(high - low)));
}
TYTO_CDF(Uniform) {
  const auto& [low, high] = distribution;
  return clip((x - low) / (high - low), 0.0, 1.0);
}

TYTO_SAMPLE(Exponential) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T pace = TYTO_CHECKED(Exponential, rate, positive);
  return -log1p(-uniform_draws<T>(drawn_shape(asked, rate), drawn_type(rate), options)) / pace;
}
TYTO_LOG_PROB(Exponential) {
  const auto& [rate] = distribution;
  return supported(T(x >= 0.0), T(log(rate) - rate * x));
}
TYTO_CDF(Exponential) {
  const auto& [rate] = distribution;
  return -expm1(-rate * maximum(x, 0.0));
}

TYTO_SAMPLE(Laplace) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T spread = TYTO_CHECKED(Laplace, scale, not_negative);
  const T u = uniform_draws<T>(drawn_shape(asked, mean, scale), drawn_type(mean, scale), options) - 0.5;
  // Short of one half, at which the logarithm is infinite.
  return mean - spread * sign(u) * log1p(-2.0 * minimum(abs(u), 0.5 - 0x1p-26));
}
TYTO_LOG_PROB(Laplace) {
  const auto& [mean, scale] = distribution;
  return -abs(x - mean) / scale - log(2.0 * scale);
}
TYTO_CDF(Laplace) {
  const auto& [mean, scale] = distribution;
  const T z = (x - mean) / scale, below = z < 0.0;
  // Without an absolute value, which has no slope at the mean.
  const T tail = 0.5 * exp(where(below, z, -z));
  return where(below, tail, 1.0 - tail);
}

TYTO_SAMPLE(Logistic) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T spread = TYTO_CHECKED(Logistic, scale, not_negative);
  const T u = core::open_draws<T>(drawn_shape(asked, mean, scale), drawn_type(mean, scale), options);
  return mean + spread * (log(u) - log1p(-u));
}
TYTO_LOG_PROB(Logistic) {
  const auto& [mean, scale] = distribution;
  const T z = (x - mean) / scale;
  return -z - 2.0 * softplus(-z) - log(scale);
}
TYTO_CDF(Logistic) {
  const auto& [mean, scale] = distribution;
  return sigmoid((x - mean) / scale);
}

TYTO_SAMPLE(Gumbel) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T spread = TYTO_CHECKED(Gumbel, scale, not_negative);
  const T u = core::open_draws<T>(drawn_shape(asked, location, scale), drawn_type(location, scale), options);
  return location - spread * log(-log(u));
}
TYTO_LOG_PROB(Gumbel) {
  const auto& [location, scale] = distribution;
  const T z = (x - location) / scale;
  return -z - exp(-z) - log(scale);
}
TYTO_CDF(Gumbel) {
  const auto& [location, scale] = distribution;
  return exp(-exp(-(x - location) / scale));
}

TYTO_SAMPLE(Cauchy) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T spread = TYTO_CHECKED(Cauchy, scale, not_negative);
  const T u = core::open_draws<T>(drawn_shape(asked, location, scale), drawn_type(location, scale), options);
  return location + spread * tan((u - 0.5) * std::numbers::pi);
}
TYTO_LOG_PROB(Cauchy) {
  const auto& [location, scale] = distribution;
  const T z = (x - location) / scale, near = (z > -1.0) & (z < 1.0);
  // The square of a far x would be infinite; beside the 1, that of a near one would be lost.
  const T tails = where(near, log1p(square(where(near, z, 0.0))), 2.0 * log(hypot(T(1.0), where(near, 1.0, z))));
  return -tails - log(scale * std::numbers::pi);
}
TYTO_CDF(Cauchy) {
  const auto& [location, scale] = distribution;
  return atan2(T(1.0), (location - x) / scale) * (1 / std::numbers::pi);
}

TYTO_SAMPLE(Weibull) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T steep = TYTO_CHECKED(Weibull, shape, positive), spread = TYTO_CHECKED(Weibull, scale, not_negative);
  const T u = uniform_draws<T>(drawn_shape(asked, shape, scale), drawn_type(shape, scale), options);
  return spread * power(-log1p(-u), 1.0 / steep);
}
TYTO_LOG_PROB(Weibull) {
  const auto& [shape, scale] = distribution;
  const T inside = x >= 0.0, z = where(inside, x, 1.0) / scale;
  return supported(inside, T(log(shape / scale) + core::times_log<T>(shape - 1.0, z) - power(z, shape)));
}
TYTO_CDF(Weibull) {
  const auto& [shape, scale] = distribution;
  const T inside = x > 0.0;
  return where(inside, -expm1(-power(where(inside, x, 1.0) / scale, shape)), 0.0);
}

TYTO_SAMPLE(Pareto) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T steep = TYTO_CHECKED(Pareto, shape, positive), least = TYTO_CHECKED(Pareto, scale, not_negative);
  const T u = uniform_draws<T>(drawn_shape(asked, shape, scale), drawn_type(shape, scale), options);
  return least * exp(-log1p(-u) / steep);
}
TYTO_LOG_PROB(Pareto) {
  const auto& [shape, scale] = distribution;
  const T inside = x >= scale, safe = where(inside, x, scale);
  return supported(inside, T(log(shape) + shape * log(scale) - (shape + 1.0) * log(safe)));
}
TYTO_CDF(Pareto) {
  const auto& [shape, scale] = distribution;
  const T inside = x >= scale;
  return where(inside, -expm1(shape * log(scale / where(inside, x, scale))), 0.0);
}

TYTO_SAMPLE(Gamma) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T pace = TYTO_CHECKED(Gamma, rate, positive);
  return core::gamma_draws<T>(asked, TYTO_CHECKED(Gamma, shape, not_negative), options) / pace;
}
TYTO_WIDE_LOG_PROB(Gamma) {
  const auto& [shape, rate] = distribution;
  const T inside = x >= 0.0, mean = rate * where(inside, x, 1.0), k = shape - 1.0;
  return supported(inside, T(core::log_poisson<T>(k, mean, k - mean) + log(rate)));
}
TYTO_WIDE_CDF(Gamma) {
  const auto& [shape, rate] = distribution;
  return gammainc(shape, maximum(rate * x, 0.0));
}

TYTO_SAMPLE(ChiSquared) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  return core::chi_squared_draws<T>(asked, TYTO_CHECKED(ChiSquared, freedom, positive), options);
}
TYTO_WIDE_LOG_PROB(ChiSquared) {
  const auto& [freedom] = distribution;
  return log_density(Gamma<T>{freedom * 0.5, core::wide<T>(0.5)}, x);
}
TYTO_WIDE_CDF(ChiSquared) {
  const auto& [freedom] = distribution;
  return probability_below(Gamma<T>{freedom * 0.5, core::wide<T>(0.5)}, x);
}

TYTO_SAMPLE(Beta) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const Shape shape = drawn_shape(asked, a, b);
  const T high = TYTO_CHECKED(Beta, a, positive), low = TYTO_CHECKED(Beta, b, positive);
  const T first = core::gamma_draws<T>(shape, high, core::split_options(options, 0));
  const T second = core::gamma_draws<T>(shape, low, core::split_options(options, 1));
  return first / (first + second);
}
TYTO_WIDE_LOG_PROB(Beta) {
  const auto& [a, b] = distribution;
  const T inside = x >= 0.0 && x <= 1.0, safe = where(inside, x, 0.5);
  return supported(inside, log_beta_density<T>(a, b, safe, 1.0 - safe));
}
TYTO_WIDE_CDF(Beta) {
  const auto& [a, b] = distribution;
  return betainc(a, b, clip(x, 0.0, 1.0));
}

TYTO_SAMPLE(StudentT) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const Shape shape = drawn_shape(asked, freedom, mean, scale);
  const T given = TYTO_CHECKED(StudentT, freedom, positive), spread = TYTO_CHECKED(StudentT, scale, not_negative);
  const T z = normal_draws<T>(shape, drawn_type(freedom, mean, scale), core::split_options(options, 0));
  const T chi = core::chi_squared_draws<T>(shape, given, core::split_options(options, 1));
  return mean + spread * z * rsqrt(chi / given);
}
TYTO_WIDE_LOG_PROB(StudentT) {
  const auto& [freedom, mean, scale] = distribution;
  const T z = (x - mean) / scale;
  return log_gamma_half_step<T>(0.5 * freedom) - 0.5 * log(freedom * std::numbers::pi) - log(scale) -
         0.5 * (freedom + 1.0) * log1p(square(z) / freedom);
}
TYTO_WIDE_CDF(StudentT) {
  const auto& [freedom, mean, scale] = distribution;
  const T z = (x - mean) / scale, ratio = minimum(square(z) / freedom, 1e300), part = 1.0 / (1.0 + ratio);
  const T tail = 0.5 * T(core::beta_below(0.5 * freedom, core::wide<T>(0.5), part, ratio * part));
  // In the middle, where the square has no slope, the line through it.
  const T height = exp(log_gamma_half_step<T>(0.5 * freedom)) * rsqrt(freedom * std::numbers::pi);
  return where(equal(z, 0.0), 0.5 + z * height, where(z > 0.0, 1.0 - tail, tail));
}

TYTO_SAMPLE(FisherF) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const Shape shape = drawn_shape(asked, numerator, denominator);
  const T a = TYTO_CHECKED(FisherF, numerator, positive), b = TYTO_CHECKED(FisherF, denominator, positive);
  const T above = core::chi_squared_draws<T>(shape, a, core::split_options(options, 0)) / a;
  return above / (core::chi_squared_draws<T>(shape, b, core::split_options(options, 1)) / b);
}
TYTO_WIDE_LOG_PROB(FisherF) {
  const auto& [numerator, denominator] = distribution;
  const T inside = x >= 0.0, odds = numerator / denominator;
  const T ratio = minimum(where(inside, x, 1.0) * odds, 1e300), rest = 1.0 / (1.0 + ratio);
  return supported(inside, T(log_beta_density<T>(0.5 * numerator, 0.5 * denominator, ratio * rest, rest) + log(odds) +
                             2.0 * log(rest)));
}
TYTO_WIDE_CDF(FisherF) {
  const auto& [numerator, denominator] = distribution;
  const T ratio = minimum(maximum(x, 0.0) * (numerator / denominator), 1e300), rest = 1.0 / (1.0 + ratio);
  return T(core::beta_below(0.5 * numerator, 0.5 * denominator, ratio * rest, rest));
}

TYTO_SAMPLE(Rayleigh) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T spread = TYTO_CHECKED(Rayleigh, scale, not_negative);
  return spread * sqrt(-2.0 * log1p(-uniform_draws<T>(drawn_shape(asked, scale), drawn_type(scale), options)));
}
TYTO_LOG_PROB(Rayleigh) {
  const auto& [scale] = distribution;
  const T inside = x > 0.0, safe = where(inside, x, 1.0);
  return supported(inside, T(log(safe) - 2.0 * log(scale) - 0.5 * square(safe / scale)));
}
TYTO_CDF(Rayleigh) {
  const auto& [scale] = distribution;
  return -expm1(-0.5 * square(maximum(x, 0.0) / scale));
}

TYTO_SAMPLE(Power) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const T steep = TYTO_CHECKED(Power, shape, positive);
  return exp(log1p(-uniform_draws<T>(drawn_shape(asked, shape), drawn_type(shape), options)) / steep);
}
TYTO_LOG_PROB(Power) {
  const auto& [shape] = distribution;
  const T inside = x >= 0.0 && x <= 1.0;
  return supported(inside, T(log(shape) + core::times_log<T>(shape - 1.0, where(inside, x, 1.0))));
}
TYTO_CDF(Power) {
  const auto& [shape] = distribution;
  const T inside = x > 0.0;
  return where(inside, exp(shape * log(where(inside, minimum(x, 1.0), 1.0))), 0.0);
}

TYTO_SAMPLE(Triangular) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  core::require("sample", low, mode, high);
  const T rise = TYTO_CHECKED(Triangular, mode - low, not_negative);
  const T fall = TYTO_CHECKED(Triangular, high - mode, not_negative);
  const T whole = core::checked<T>("Triangular", "high - low", rise + fall, core::limits::positive);
  const T u = uniform_draws<T>(drawn_shape(asked, low, mode, high), drawn_type(low, mode, high), options);
  return where(u * whole < rise, low + sqrt(u * whole * rise), high - sqrt((1.0 - u) * whole * fall));
}
TYTO_LOG_PROB(Triangular) {
  const auto& [low, mode, high] = distribution;
  const T inside = x >= low && x <= high, whole = high - low;
  // The mode may lie at an end.
  const T rise = where(mode > low, mode - low, whole), fall = where(high > mode, high - mode, whole);
  const T height = where(x < mode, (x - low) / rise, where(x > mode, (high - x) / fall, 1.0));
  return supported(inside, T(log(2.0 * where(inside, height, 1.0)) - log(whole)));
}
TYTO_CDF(Triangular) {
  const auto& [low, mode, high] = distribution;
  const T whole = high - low;
  const T rise = where(mode > low, mode - low, whole), fall = where(high > mode, high - mode, whole);
  const T below = square(maximum(x - low, 0.0)) / (whole * rise),
          above = square(maximum(high - x, 0.0)) / (whole * fall);
  return where(x < mode, below, 1.0 - above);
}

TYTO_SAMPLE(Wald) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const Shape shape = drawn_shape(asked, mean, scale);
  const DType type = drawn_type(mean, scale);
  // The smaller root that belongs to the square of a normal, or the larger one (Michael, Schucany and Haas).
  const T z = normal_draws<T>(shape, type, core::split_options(options, 0));
  const T m = TYTO_CHECKED(Wald, mean, positive), w = m * square(z) / (2.0 * TYTO_CHECKED(Wald, scale, positive));
  const T root = 1.0 + w + sqrt(w * (w + 2.0)), small = m / root;
  const T u = uniform_draws<T>(shape, type, core::split_options(options, 1));
  return where(u * (m + small) <= m, small, m * root);
}
TYTO_LOG_PROB(Wald) {
  const auto& [mean, scale] = distribution;
  const T inside = x > 0.0, safe = where(inside, x, 1.0);
  const T exponent = scale * square((safe - mean) / mean) / safe;
  return supported(inside, T(0.5 * (log(scale) - 3.0 * log(safe) - exponent) - log_of_root_two_pi));
}
TYTO_CDF(Wald) {
  const auto& [mean, scale] = distribution;
  const T inside = x > 0.0, safe = where(inside, x, 1.0).astype(DType::f64);
  const T steep = sqrt(scale / safe), a = steep * (safe / mean - 1.0), b = steep * (safe / mean + 1.0);
  // e^(2 scale / mean) times the upper tail from b on, of which neither may overflow: e^(-a^2 / 2) erfcx(b / sqrt 2)
  // / 2.
  const T t = b * (std::numbers::sqrt2 * 0.5), near = t < 20.0, s = where(near, t, 1.0), f = where(near, 20.0, t);
  const T r = 1.0 / square(f), series = 1.0 + r * (-0.5 + r * (0.75 + r * (-1.875 + r * 6.5625)));
  const T scaled = where(near, exp(square(s)) * erfc(s), series / (f * std::sqrt(std::numbers::pi)));
  const T found = normal_cdf(a) + 0.5 * exp(-0.5 * square(a)) * scaled;
  return where(inside, found, 0.0).astype(core::common_float(x, mean, scale));
}

TYTO_INSTANTIATE_DISTRIBUTION(Normal)
TYTO_INSTANTIATE_DISTRIBUTION(LogNormal)
TYTO_INSTANTIATE_DISTRIBUTION(HalfNormal)
TYTO_INSTANTIATE_DISTRIBUTION(Uniform)
TYTO_INSTANTIATE_DISTRIBUTION(Exponential)
TYTO_INSTANTIATE_DISTRIBUTION(Laplace)
TYTO_INSTANTIATE_DISTRIBUTION(Logistic)
TYTO_INSTANTIATE_DISTRIBUTION(Gumbel)
TYTO_INSTANTIATE_DISTRIBUTION(Cauchy)
TYTO_INSTANTIATE_DISTRIBUTION(Weibull)
TYTO_INSTANTIATE_DISTRIBUTION(Pareto)
TYTO_INSTANTIATE_DISTRIBUTION(Gamma)
TYTO_INSTANTIATE_DISTRIBUTION(ChiSquared)
TYTO_INSTANTIATE_DISTRIBUTION(Beta)
TYTO_INSTANTIATE_DISTRIBUTION(StudentT)
TYTO_INSTANTIATE_DISTRIBUTION(FisherF)
TYTO_INSTANTIATE_DISTRIBUTION(Rayleigh)
TYTO_INSTANTIATE_DISTRIBUTION(Power)
TYTO_INSTANTIATE_DISTRIBUTION(Triangular)
TYTO_INSTANTIATE_DISTRIBUTION(Wald)

}  // namespace distributions
}  // namespace TYTO_API
