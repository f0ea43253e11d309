// Logarithms of the probabilities of counts, as small differences from what is expected (Loader's saddle point):
// logarithms of factorials would cancel where numbers are huge.
#pragma once

#include <array>
#include <numbers>

#include "ops/composed/distribution_draws.hpp"
#include "tyto/special.hpp"

namespace tyto::core {

/// What Stirling's formula leaves of log(n!), of n from one on.
template <class T>
T stirling_rest(const T& n) {
  constexpr double large = 16;
  const T low = clip(n, 1.0, large), many = maximum(n, large), inverse = 1.0 / many, square = inverse * inverse;
  const T series =
      inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square / 1188.0))));
  const double constant = 0.5 * std::log(2 * std::numbers::pi);
  return where(n < large, lgamma(low + 1.0) - (low + 0.5) * log(low) + low - constant, series);
}

/// x log(x / mean) + mean - x, of positive x.
template <class T>
T deviance(const T& x, const T& expected) {
  const T mean = maximum(expected, 1e-300), difference = x - mean, part = difference / (x + mean);
  const T near = abs(part) < 0.1, small = where(near, part, 0.0), w = small * small;
  T series = w / 17.0;
  for (int odd = 15; odd >= 3; odd -= 2) series = w * (1.0 / odd + series);
  return where(near, difference * small + 2.0 * x * small * series, x * log(x / mean) - difference);
}

/// Of k of n that each come with probability p.
template <class T>
T log_binomial(const T& k, const T& n, const T& p) {
  const T none = k <= 0.0, every = k >= n, end = none || every;
  const T x = where(end, 1.0, k), y = where(end, 1.0, n - k);
  const T between = stirling_rest<T>(n) - stirling_rest<T>(x) - stirling_rest<T>(y) - deviance<T>(x, n * p) -
                    deviance<T>(y, n * (1.0 - p)) - 0.5 * log(2 * std::numbers::pi * x * (y / maximum(n, 1.0)));
  return where(none, n * log1p(-p), where(every, n * log(maximum(p, 1e-300)), between));
}

template <class T>
T log_poisson(const T& k, const T& rate) {
  const T none = k <= 0.0, x = where(none, 1.0, k);
  return where(none, -rate, -stirling_rest<T>(x) - deviance<T>(x, rate) - 0.5 * log(2 * std::numbers::pi * x));
}

/// Of k good ones among `drawn`, which are at most half of all, and of which `bad` has as many.
template <class T>
T log_hypergeometric_draws(const T& k, const T& good, const T& bad, const T& drawn) {
  const T all = good + bad, p = drawn / maximum(all, 1.0);
  const T inside = k >= 0.0 && k <= minimum(good, drawn), safe = where(inside, k, 0.0);
  const T found =
      log_binomial<T>(safe, good, p) + log_binomial<T>(drawn - safe, bad, p) - log_binomial<T>(drawn, all, p);
  return where(inside, found, log_of_zero);
}

}  // namespace tyto::core
