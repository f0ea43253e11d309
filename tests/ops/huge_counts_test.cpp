// SPDX-License-Identifier: MIT
// Draws of counts out of huge populations against their limits.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "tyto/distributions.hpp"
#include "tyto/reduce.hpp"
#include "tyto/statistics.hpp"

using namespace tyto;
namespace d = tyto::distributions;

namespace {

using Counts = Tensor<Eager>;
using Probabilities = std::vector<double>;

Probabilities poisson_limit(double rate, int length) {
  Probabilities found{std::exp(-rate)};
  for (int k = 1; k < length; ++k) found.push_back(found.back() * rate / k);
  return found;
}
Probabilities binomial_limit(int n, double p) {
  Probabilities found{std::pow(1 - p, n)};
  for (int k = 1; k <= n; ++k) found.push_back(found.back() * (n - k + 1) / k * (p / (1 - p)));
  return found;
}

/// Each count as often as its probability says, within five standard deviations and one draw.
void check_frequencies(const Counts& drawn, const Probabilities& probabilities) {
  std::map<std::int64_t, double> times;
  for (const std::int64_t k : drawn.to_vector<std::int64_t>()) ++times[k];
  const auto n = static_cast<double>(element_count(drawn.shape()));
  double all_found = 0;
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    CAPTURE(k);
    const double p = probabilities[k];
    const double found = times[static_cast<std::int64_t>(k)];
    CHECK(std::abs(found - n * p) <= 5 * std::sqrt(n * p * (1 - p)) + 1);
    all_found += found;
  }
  CHECK(all_found == n);
}

/// Moments of counts that are as good as normal, within five standard deviations, and how many lie within one.
void check_normal(const Counts& drawn, double mean_value, double deviation) {
  const Counts standard = (drawn.astype(DType::f64) - mean_value) / deviation;
  const auto n = static_cast<double>(element_count(drawn.shape()));
  CHECK(std::abs(mean(standard).item<double>()) < 5 / std::sqrt(n));
  CHECK(std::abs(var(standard).item<double>() - 1) < 5 * std::sqrt(2 / n));
  const double inside = mean((abs(standard) < 1.0).astype(DType::f64)).item<double>(), p = std::erf(std::sqrt(0.5));
  CHECK(std::abs(inside - p) < 5 * std::sqrt(p * (1 - p) / n));
}

Counts one_number(double x) { return Counts::full({}, x, DType::f64); }

}  // namespace

// 500 are drawn by running sums or rejection, 100,000 by a table.
TEST_CASE("counts out of huge populations are distributed as in the limit") {
  for (const std::int64_t size : {500, 100000}) {
    CAPTURE(size);
    const Shape shape{size};
    const DrawOptions options{.key = Key{21, 6}};
    for (const double n : {1e6, 1e12, 1e15, 9e15}) {
      CAPTURE(n);
      if (n > 1e6)
        check_frequencies(d::Binomial<Counts>{one_number(n), one_number(2 / n)}.sample(shape, options),
                          poisson_limit(2, 24));
      if (n > 1e6)
        check_frequencies(d::Binomial<Counts>{one_number(n), one_number(20 / n)}.sample(shape, options),
                          poisson_limit(20, 80));
      const Counts half = one_number(n / 2);
      check_frequencies(d::Hypergeometric<Counts>{half, half, one_number(4)}.sample(shape, options),
                        binomial_limit(4, 0.5));
      check_frequencies(d::Hypergeometric<Counts>{half, half, one_number(40)}.sample(shape, options),
                        binomial_limit(40, 0.5));
      const Counts few = one_number(n / 4), most = one_number(3 * n / 4);
      check_frequencies(d::Hypergeometric<Counts>{few, most, one_number(60)}.sample(shape, options),
                        binomial_limit(60, 0.25));
      // All but a few are drawn: those left are.
      const Counts left =
          7.0 - (half - d::Hypergeometric<Counts>{half, half, one_number(n - 7)}.sample(shape, options));
      check_frequencies(left.astype(DType::i64), binomial_limit(7, 0.5));
    }
    const Counts plain = d::Binomial<Counts>{1e15, 2e-15}.sample(shape, options);
    check_frequencies(plain, poisson_limit(2, 24));
    check_frequencies(d::Hypergeometric<Counts>{5e14, 5e14, 4}.sample(shape, options), binomial_limit(4, 0.5));
  }
}

TEST_CASE("huge counts are drawn by rejection with the moments of a normal") {
  const Shape shape{20000};
  const DrawOptions options{.key = Key{21, 7}};
  check_normal(d::Poisson<Counts>{one_number(1e15)}.sample(shape, options), 1e15, std::sqrt(1e15));
  check_normal(d::Binomial<Counts>{one_number(1e15), 0.5}.sample(shape, options), 5e14, std::sqrt(2.5e14));
  check_normal(d::Binomial<Counts>{one_number(1e15), 0.75}.sample(shape, options), 7.5e14, std::sqrt(1.875e14));
  check_normal(d::Binomial<Counts>{one_number(1e15), one_number(0x1p-30)}.sample(shape, options), 1e15 * 0x1p-30,
               std::sqrt(1e15 * 0x1p-30));
  const Counts half = one_number(5e14);
  check_normal(d::Hypergeometric<Counts>{half, half, half}.sample(shape, options), 2.5e14, std::sqrt(6.25e13));
  check_normal(d::Hypergeometric<Counts>{half, half, one_number(1e6)}.sample(shape, options), 5e5, std::sqrt(2.5e5));
}

// These accept fewest proposals a round.
TEST_CASE("few counts near ten are drawn by rejection as often as their probabilities say") {
  const Shape shape{400, 500};
  const DrawOptions options{.key = Key{21, 8}};
  const Counts twenty = broadcast_to(one_number(20), shape), ten = broadcast_to(one_number(10), shape);
  check_frequencies(d::Binomial<Counts>{twenty, 0.5}.sample({}, options), binomial_limit(20, 0.5));
  check_frequencies(d::Poisson<Counts>{ten}.sample({}, options), poisson_limit(10, 60));
  Probabilities urn;
  double choices = 1, total = 0;
  for (int k = 0; k <= 20; choices = choices * (20 - k) / (k + 1), ++k) urn.push_back(choices * choices);
  for (const double p : urn) total += p;
  for (double& p : urn) p /= total;
  check_frequencies(d::Hypergeometric<Counts>{twenty, twenty, twenty}.sample({}, options), urn);
}
