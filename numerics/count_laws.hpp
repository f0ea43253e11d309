// SPDX-License-Identifier: MIT
// Laws of binomial, Poisson and hypergeometric counts, for draws by tables, by sums and by rejection.
#pragma once

#include "numerics/count_draws.hpp"
#include "numerics/count_probabilities.hpp"

namespace tyto::core {

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

/// The binomial law for a probability of at most a half.
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
    const T highest = log_binomial<T>(middle, n, p);
    return hat_proposal<T>(hat, u, v, [&](const T& k) {
      const T inside = k >= 0.0 && k <= n, safe = where(inside, k, 0.0);
      return where(inside, log_binomial<T>(safe, n, p) - highest, log_of_zero);
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
    return hat_proposal<T>(hat, u, v, [&](const T& k) { return log_poisson<T>(k, rate, k - rate); });
  }
};

/// The hypergeometric law of the rarer kind among at most half of all.
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
    return log_hypergeometric<T>(k, given[0], given[1], given[2]);
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

// Draws of parameters that are f64 and known to be valid, or of which it does not matter what is drawn.

template <class T>
T poisson_draws(const Shape& shape, const T& rate, const DrawOptions& options) {
  return drawn_counts<T>(PoissonLaw<T>{}, {rate}, shape, options);
}

template <class T>
T binomial_draws(const Shape& shape, const T& count, const T& probability, const DrawOptions& options) {
  const T turned = probability > 0.5, rarer = where(turned, 1.0 - probability, probability);
  const T found = clip(drawn_counts<T>(BinomialLaw<T>{}, {count, rarer}, shape, options), 0.0, count);
  return where(turned, count - found, found);
}

template <class T>
T hypergeometric_draws(const Shape& shape, const T& good, const T& bad, const T& drawn, const DrawOptions& options) {
  // How many of the rarer kind are taken or left, whichever are fewer.
  const T all = good + bad, turned = good > bad, rare = minimum(good, bad), left = 2.0 * drawn > all,
          taken = where(left, all - drawn, drawn);
  const T counts = drawn_counts<T>(HypergeometricLaw<T>{}, {rare, maximum(good, bad), taken}, shape, options);
  const T found = minimum(counts, minimum(rare, taken)), of_good = where(turned, taken - found, found);
  return where(left, good - of_good, of_good);
}

}  // namespace tyto::core
