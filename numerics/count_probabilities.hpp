// SPDX-License-Identifier: MIT
// Logarithms of the probabilities of counts, as small differences from what is expected (Loader's saddle point):
// differences of logarithms of factorials cancel where numbers are huge. All are functions of real f64 numbers, with
// their gradients.
#pragma once

#include <cmath>
#include <numbers>

#include "numerics/distribution_draws.hpp"
#include "tyto/special.hpp"

namespace tyto::core {

// From here on Stirling's series has all digits.
inline constexpr double many = 16;

/// k log(p), of which 0 log(0) is 0.
template <class T>
T times_log(const T& k, const T& p) {
  return k * log(where(equal(k, 0.0) && p <= 0.0, 1.0, p));
}

/// log(k! / (k^k e^-k)) of k from `many` on.
template <class T>
T stirling_rest(const T& k) {
  const T inverse = 1.0 / k, square = inverse * inverse;
  const T series =
      inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square / 1188.0))));
  return series + 0.5 * log(2 * std::numbers::pi * k);
}

/// log(mean^k e^-mean / k!), with k - mean given, which may be known better than the mean. From `many` on it is the
/// distance from the probability of the mean itself, a series where both are near each other.
template <class T>
T log_poisson(const T& k, const T& mean, const T& difference) {
  const T small = k < many, low = where(small, k, 1.0), high = where(small, many, k);
  const T impossible = equal(k, 0.0) && mean <= 0.0;  // 0 log(0) is 0
  const T powers = k * log(where(impossible, 1.0, mean) / where(small, 1.0, k));
  const T part = where(small, 0.0, difference) / (high + where(small, many, mean)), near = abs(part) < 0.1;
  const T short_part = where(near, part, 0.0), w = short_part * short_part;
  T series = w / 17.0;
  for (int odd = 15; odd >= 3; odd -= 2) series = w * (1.0 / odd + series);
  const T from_mean = where(near, -short_part * (difference + 2.0 * high * series), powers + difference);
  return where(small, powers - mean - lgamma(low + 1.0), from_mean - stirling_rest<T>(high));
}

/// log(n^n e^-n / n!).
template <class T>
T log_poisson_at_mean(const T& n) {
  const T small = n < many, low = where(small, n, 1.0);
  return where(small, times_log<T>(low, low) - low - lgamma(low + 1.0), -stirling_rest<T>(where(small, many, n)));
}

/// count - n p without the rounding of n p: the halves of n and p are so short that their products are exact.
template <class T>
T excess(const T& count, const T& n, const T& p) {
  const T short_p = p.astype(DType::f32).astype(DType::f64), most = floor(n * 0x1p-26) * 0x1p26;
  return ((count - most * short_p) - (n - most) * short_p) - n * (p - short_p);
}

/// k - (k + m) x, where x + y = 1, by the smaller of them, and with what k + m loses to rounding.
template <class T>
T split_excess(const T& k, const T& m, const T& x, const T& y) {
  const T low = x <= 0.5, part = where(low, x, y), n = k + m, added = n - k, lost = (k - (n - added)) + (m - added);
  const T found = excess<T>(where(low, k, m), n, part) - lost * part;
  return where(low, found, -found);
}

/// log(x^k y^m (k + m)! / (k! m!)), where x + y = 1.
template <class T>
T log_split(const T& k, const T& m, const T& x, const T& y) {
  const T n = k + m, difference = split_excess<T>(k, m, x, y);
  return log_poisson<T>(k, n * x, difference) + log_poisson<T>(m, n * y, -difference) - log_poisson_at_mean<T>(n);
}

/// Logarithm of the probability of k successes in n trials of probability p.
template <class T>
T log_binomial(const T& k, const T& n, const T& p) {
  const T difference = excess<T>(k, n, p);
  return log_poisson<T>(k, n * p, difference) + log_poisson<T>(n - k, n * (1.0 - p), -difference) -
         log_poisson_at_mean<T>(n);
}

/// Log-probability of k good ones among `drawn`; minus infinity where impossible. The value of p cancels.
template <class T>
T log_hypergeometric(const T& k, const T& good, const T& bad, const T& drawn) {
  const T all = good + bad, p = drawn / maximum(all, 1.0), least = maximum(drawn - bad, 0.0);
  const T inside = k >= least && k <= minimum(good, drawn), safe = where(inside, k, least);
  const T found =
      log_binomial<T>(safe, good, p) + log_binomial<T>(drawn - safe, bad, p) - log_binomial<T>(drawn, all, p);
  return where(inside, found, log_of_zero);
}

}  // namespace tyto::core
