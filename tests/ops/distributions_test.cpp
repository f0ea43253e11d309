// SPDX-License-Identifier: MIT
// Samples of distributions against their own distribution functions, gradients of densities against differences.
#include "tyto/distributions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/support/weighted_gradient.hpp"
#include "tyto/graph.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"
#include "tyto/special.hpp"
#include "tyto/statistics.hpp"
#include "tyto/vmap.hpp"

using namespace tyto;
using namespace tyto::testing;
namespace d = tyto::distributions;

namespace {

constexpr std::int64_t draws = 20000;
// Kolmogorov's distance at a significance of 1 in 10,000: 0.0158. A distribution function that is off by twice that
// somewhere goes unnoticed as rarely.
const double noticed = 2.23 / std::sqrt(static_cast<double>(draws));

/// Distribution functions in batches: those that are sums take up to 8 kB for each number.
template <class D>
Numbers probabilities_below(const D& distribution, const Numbers& at) {
  constexpr std::size_t batch = 500;
  Numbers found;
  for (std::size_t begin = 0; begin < at.size(); begin += batch) {
    const std::size_t count = std::min(batch, at.size() - begin);
    const auto x = Tensor<Eager>::from(std::span(at).subspan(begin, count), {static_cast<std::int64_t>(count)});
    const Numbers part = distribution.cdf(x).template to_vector<double>();
    found.insert(found.end(), part.begin(), part.end());
  }
  return found;
}

/// The largest distance between how often samples are at most x and how often they should be, for continuous numbers;
/// that for whole ones is between the sums of frequencies.
template <class D>
void check_samples(const char* name, const D& distribution, bool whole = false) {
  CAPTURE(name);
  using T = Tensor<Eager>;
  const T x = distribution.sample(Shape{draws}, {.key = Key{17, 3}});
  CHECK(x.shape() == Shape{draws});
  CHECK(array_equal(x, distribution.sample(Shape{draws}, {.key = Key{17, 3}})));
  CHECK(x.dtype() == (whole ? DType::i64 : DType::f32));
  const Numbers sorted = sort(x.astype(DType::f64)).to_vector<double>();
  Numbers at, frequencies;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool last_of_equals = i + 1 == sorted.size() || sorted[i + 1] != sorted[i];
    if (whole && !last_of_equals) continue;
    at.push_back(sorted[i]);
    frequencies.push_back((static_cast<double>(i) + 1) / draws);
  }
  const Numbers expected = probabilities_below(distribution, at);
  double largest = 0;
  for (std::size_t i = 0; i < at.size(); ++i) largest = std::max(largest, std::abs(expected[i] - frequencies[i]));
  CHECK(largest < noticed);
}

}  // namespace

TEST_CASE("samples are distributed as their distribution function says") {
  using T = Tensor<Eager>;
  check_samples("normal", d::Normal<T>{1.0, 2.0});
  check_samples("log normal", d::LogNormal<T>{0.3, 0.7});
  check_samples("half normal", d::HalfNormal<T>{2.0});
  check_samples("uniform", d::Uniform<T>{-1.0, 2.0});
  check_samples("exponential", d::Exponential<T>{1.5});
  check_samples("laplace", d::Laplace<T>{1.0, 2.0});
  check_samples("logistic", d::Logistic<T>{1.0, 2.0});
  check_samples("gumbel", d::Gumbel<T>{1.0, 2.0});
  check_samples("cauchy", d::Cauchy<T>{1.0, 2.0});
  check_samples("weibull", d::Weibull<T>{1.7, 2.0});
  check_samples("pareto", d::Pareto<T>{2.5, 1.5});
  check_samples("gamma", d::Gamma<T>{2.5, 1.5});
  check_samples("gamma of a small shape", d::Gamma<T>{0.3, 1.0});
  check_samples("chi squared", d::ChiSquared<T>{5.0});
  check_samples("beta", d::Beta<T>{2.0, 0.7});
  check_samples("student", d::StudentT<T>{4.0, 0.5, 2.0});
  check_samples("fisher", d::FisherF<T>{3.0, 8.0});
  check_samples("bernoulli", d::Bernoulli<T>{0.3}, true);
  check_samples("few of binomial", d::Binomial<T>{10, 0.3}, true);
  check_samples("many of binomial", d::Binomial<T>{200, 0.8}, true);
  check_samples("geometric", d::Geometric<T>{0.2}, true);
  check_samples("negative binomial", d::NegativeBinomial<T>{4, 0.2}, true);
  check_samples("few of poisson", d::Poisson<T>{3.5}, true);
  check_samples("many of poisson", d::Poisson<T>{80.0}, true);
  check_samples("hundreds of binomial", d::Binomial<T>{1000, 0.3}, true);
  check_samples("hundreds of poisson", d::Poisson<T>{700.0}, true);
  check_samples("rayleigh", d::Rayleigh<T>{1.5});
  check_samples("power", d::Power<T>{2.5});
  check_samples("triangular", d::Triangular<T>{-1.0, 0.5, 3.0});
  check_samples("triangular with its mode at an end", d::Triangular<T>{0.0, 0.0, 2.0});
  check_samples("wald", d::Wald<T>{1.5, 2.0});
  check_samples("von mises", d::VonMises<T>{0.5, 2.0});
  check_samples("von mises of no concentration", d::VonMises<T>{0.5, 0.0});
  check_samples("von mises across pi", d::VonMises<T>{3.0, 20.0});
  check_samples("von mises of much concentration", d::VonMises<T>{0.0, 1e6});
  check_samples("noncentral chi squared", d::NoncentralChiSquared<T>{0.7, 3.0});
  check_samples("noncentral f", d::NoncentralF<T>{3.0, 9.0, 20.0});
  check_samples("few of hypergeometric", d::Hypergeometric<T>{12, 30, 15}, true);
  check_samples("many of hypergeometric", d::Hypergeometric<T>{300, 100, 90}, true);
  check_samples("most of hypergeometric", d::Hypergeometric<T>{300, 200, 450}, true);
  check_samples("zipf", d::Zipf<T>{2.5}, true);
  check_samples("log series", d::LogSeries<T>{0.8}, true);
}

TEST_CASE("both modes draw the same samples, and tensors as parameters broadcast") {
  const Key key{5, 0};
  const auto eager = d::Gamma<Tensor<Eager>>{Tensor<Eager>{0.5, 3.0}, 2.0}.sample(Shape{4, 2}, {.key = key});
  const auto lazy = d::Gamma<Tensor<Lazy>>{Tensor<Lazy>{0.5, 3.0}, 2.0}.sample(Shape{4, 2}, {.key = key});
  CHECK(numbers(eager) == numbers(lazy));
  CHECK(d::Normal<Tensor<Eager>>{Tensor<Eager>{0.0, 9.0}, 1.0}.sample().shape() == Shape{2});
  CHECK(d::Poisson<Tensor<Lazy>>{Tensor<Lazy>{0.0, 50.0}}.sample(Shape{3, 2}).shape() == Shape{3, 2});
  CHECK(d::Poisson<Tensor<Eager>>{0.0}.sample(Shape{3}).to_vector<int>() == std::vector<int>{0, 0, 0});
  CHECK(d::Binomial<Tensor<Eager>>{7, 1.0}.sample(Shape{2}).to_vector<int>() == std::vector<int>{7, 7});
  CHECK(d::Normal<Tensor<Eager>>{}.sample(Shape{0}).shape() == Shape{0});
  CHECK_THROWS_WITH_AS((d::Normal<Tensor<Eager>>{Tensor<Eager>{0.0, 9.0}, 1.0}.sample(Shape{3})),
                       "sample: parameters of shape (2,) do not broadcast to the sample's shape (3,)", ShapeError);
}

namespace {

/// The distance between the frequencies of counts and a distribution function.
double largest_distance(Numbers counts, const std::function<double(double)>& below) {
  std::sort(counts.begin(), counts.end());
  double largest = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i + 1 < counts.size() && counts[i + 1] == counts[i]) continue;
    const double frequency = (static_cast<double>(i) + 1) / static_cast<double>(counts.size());
    largest = std::max(largest, std::abs(frequency - below(counts[i])));
  }
  return largest;
}

/// The running sum of `probability` at 0, 1, ..., k, added here.
std::function<double(double)> running_sum(const std::function<double(double)>& log_probability) {
  return [=](double k) {
    double sum = 0;
    for (double i = 0; i <= k; ++i) sum += std::exp(log_probability(i));
    return sum;
  };
}
double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

std::function<double(double)> poisson(double rate) {
  return running_sum([=](double k) { return k * std::log(rate) - rate - std::lgamma(k + 1); });
}
std::function<double(double)> binomial(double n, double p) {
  return running_sum(
      [=](double k) { return k > n ? -INFINITY : log_choose(n, k) + k * std::log(p) + (n - k) * std::log1p(-p); });
}
std::function<double(double)> hypergeometric(double good, double bad, double drawn) {
  return running_sum([=](double k) {
    if (k > good || k > drawn || drawn - k > bad) return -static_cast<double>(INFINITY);
    return log_choose(good, k) + log_choose(bad, drawn - k) - log_choose(good + bad, drawn);
  });
}

/// Draws of each set of parameters, a column each, against sums that are added here.
void check_columns(const Tensor<Eager>& drawn, const std::vector<std::function<double(double)>>& below) {
  REQUIRE(drawn.shape()[1] == static_cast<std::int64_t>(below.size()));
  for (std::size_t i = 0; i < below.size(); ++i) {
    CAPTURE(i);
    const Numbers column = drawn(all, static_cast<std::int64_t>(i)).astype(DType::f64).to_vector<double>();
    CHECK(largest_distance(column, below[i]) < 2.23 / std::sqrt(static_cast<double>(column.size())));
  }
}

}  // namespace

// 12,000 draws of a column are by a table, those of a stack of equal columns are not.
TEST_CASE("counts are drawn as their probabilities add up, by tables and without them") {
  using T = Tensor<Eager>;
  const std::int64_t many = 12000;
  const DrawOptions options{.key = Key{11, 2}};
  const T rates{0.3, 4.0, 9.99, 10.0, 25.0, 700.0}, trials{3.0, 40.0, 70.0, 40.0, 1000.0, 1000.0},
      chances{0.5, 0.1, 0.2, 0.9, 0.3, 0.999};
  const T good{5.0, 30.0, 300.0, 40.0, 5000.0}, bad{8.0, 300.0, 100.0, 45.0, 8000.0},
      taken{4.0, 60.0, 90.0, 80.0, 3000.0};
  const std::vector<std::function<double(double)>> of_rates{poisson(0.3),  poisson(4.0),  poisson(9.99),
                                                            poisson(10.0), poisson(25.0), poisson(700.0)};
  const std::vector<std::function<double(double)>> of_trials{binomial(3, 0.5),    binomial(40, 0.1),
                                                             binomial(70, 0.2),   binomial(40, 0.9),
                                                             binomial(1000, 0.3), binomial(1000, 0.999)};
  const std::vector<std::function<double(double)>> of_urns{hypergeometric(5, 8, 4), hypergeometric(30, 300, 60),
                                                           hypergeometric(300, 100, 90), hypergeometric(40, 45, 80),
                                                           hypergeometric(5000, 8000, 3000)};
  check_columns(d::Poisson<T>{rates}.sample(Shape{many, 6}, options), of_rates);
  check_columns(d::Binomial<T>{trials, chances}.sample(Shape{many, 6}, options), of_trials);
  check_columns(d::Hypergeometric<T>{good, bad, taken}.sample(Shape{many, 5}, options), of_urns);

  const auto column = [&](const T& x) { return broadcast_to(x, Shape{many, x.shape()[0]}); };
  check_columns(d::Poisson<T>{column(rates)}.sample({}, options), of_rates);
  check_columns(d::Binomial<T>{column(trials), column(chances)}.sample({}, options), of_trials);
  check_columns(d::Hypergeometric<T>{column(good), column(bad), column(taken)}.sample({}, options), of_urns);
}

TEST_CASE("counts too many for a table are drawn by rejection beside those of one") {
  using T = Tensor<Eager>;
  const T drawn = d::Poisson<T>{T{1e6, 2.0}}.sample(Shape{20000, 2}, {.key = Key{4, 4}}).astype(DType::f64);
  CHECK(std::abs(mean(drawn(all, 0)).item<double>() - 1e6) < 4 * 1000 / std::sqrt(20000.0));
  CHECK(std::abs(sqrt(var(drawn(all, 0))).item<double>() / 1000 - 1) < 4 / std::sqrt(40000.0));
  CHECK(largest_distance(drawn(all, 1).to_vector<double>(), poisson(2.0)) < 2.23 / std::sqrt(20000.0));
  const T wide = d::Binomial<T>{1e7, 0.25}.sample(Shape{20000}, {.key = Key{4, 5}}).astype(DType::f64);
  CHECK(std::abs(mean(wide).item<double>() - 2.5e6) < 4 * 1369.3 / std::sqrt(20000.0));
  CHECK(std::abs(sqrt(var(wide)).item<double>() / 1369.3064 - 1) < 4 / std::sqrt(40000.0));
}

TEST_CASE("counts at the ends of their parameters are certain") {
  using T = Tensor<Eager>;
  for (const std::int64_t size : {std::int64_t{3}, std::int64_t{5000}}) {
    CAPTURE(size);
    const auto all_are = [&](const T& drawn, int value) {
      CHECK(drawn.shape() == Shape{size});
      CHECK(all(equal(drawn, value)).item<bool>());
    };
    all_are(d::Poisson<T>{0.0}.sample(Shape{size}), 0);
    all_are(d::Binomial<T>{7, 0.0}.sample(Shape{size}), 0);
    all_are(d::Binomial<T>{7, 1.0}.sample(Shape{size}), 7);
    all_are(d::Binomial<T>{0, 0.3}.sample(Shape{size}), 0);
    all_are(d::Binomial<T>{500, 1.0}.sample(Shape{size}), 500);
    all_are(d::Hypergeometric<T>{0, 0, 0}.sample(Shape{size}), 0);
    all_are(d::Hypergeometric<T>{5, 0, 3}.sample(Shape{size}), 3);
    all_are(d::Hypergeometric<T>{0, 5, 3}.sample(Shape{size}), 0);
    all_are(d::Hypergeometric<T>{5, 8, 13}.sample(Shape{size}), 5);
    all_are(d::Hypergeometric<T>{5, 8, 0}.sample(Shape{size}), 0);
  }
  CHECK(d::Poisson<T>{3.0}.sample(Shape{0, 4}).shape() == Shape{0, 4});
  CHECK(d::Poisson<T>{T::zeros({0})}.sample().shape() == Shape{0});
}

TEST_CASE("both modes and compiled functions draw the same counts, and go on at the same numbers") {
  using E = Tensor<Eager>;
  using L = Tensor<Lazy>;
  const auto draws = []<class T>(const T& rates, const T& wide, const Shape& shape) {
    const T one = d::Poisson<T>{rates}.sample(shape), two = d::Binomial<T>{wide, 0.4}.sample(shape),
            three = d::Hypergeometric<T>{wide, 50.0, 30.0}.sample(shape),
            four = d::NegativeBinomial<T>{4.0, 0.3}.sample(shape), five = d::Zipf<T>{2.5}.sample(shape),
            six = d::VonMises<T>{0.0, 2.0}.sample(shape);
    return std::vector<T>{one, two, three, four, five, six.astype(DType::f64), T::uniform({3}, {.dtype = DType::f64})};
  };
  for (const Shape& shape : {Shape{7, 2}, Shape{1200, 2}}) {
    CAPTURE(shape[0]);
    const E rates{3.0, 2e5}, wide{25.0, 4e5};
    seed(5);
    const std::vector<E> eager = draws(rates, wide, shape);
    seed(5);
    const std::vector<L> lazy = draws(L(rates), L(wide), shape);
    auto compiled = compile([&](const L& a, const L& b) { return draws(a, b, shape); });
    seed(5);
    const std::vector<L> run = compiled(L(rates), L(wide));
    for (std::size_t i = 0; i < eager.size(); ++i) {
      CAPTURE(i);
      CHECK(numbers(eager[i]) == numbers(lazy[i]));
      CHECK(numbers(eager[i]) == numbers(run[i]));
    }
  }
}

TEST_CASE("counts are drawn for many examples at once") {
  using T = Tensor<Eager>;
  const DrawOptions options{.key = Key{9, 1}};
  const T rates{2.0, 40.0, 3e5};
  const T drawn = vmap([&](const T& rate) { return d::Poisson<T>{rate}.sample(Shape{5}, options); })(rates);
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(array_equal(drawn(i), d::Poisson<T>{T(rates(i))}.sample(Shape{5}, options)));
  }
}

TEST_CASE_TEMPLATE("categorical draws classes as often as their probabilities say", M, Eager, Lazy) {
  using T = Tensor<M>;
  const d::Categorical<T> classes{log(T{{0.2, 0.5, 0.3}, {0.0, 0.25, 0.75}})};
  const T x = classes.sample(Shape{4000}, {.key = Key{3, 1}});
  CHECK(x.shape() == Shape{4000, 2});
  CHECK(std::abs(mean(equal(x(all, 0), 1)).template item<double>() - 0.5) < 0.03);
  CHECK(std::abs(mean(equal(x(all, 1), 2)).template item<double>() - 0.75) < 0.03);
  CHECK(allclose(exp(classes.log_prob(T{1, 2})), T{0.5, 0.75}));
  CHECK(allclose(classes.cdf(T{0, 1}), T{0.2, 0.25}));
  CHECK(classes.log_prob(T{5, 0}).template to_vector<double>()[0] == -INFINITY);
}

TEST_CASE_TEMPLATE("vectors of counts add up, and have the moments of theirs", M, Eager, Lazy) {
  using T = Tensor<M>;
  const DrawOptions options{.key = Key{3, 4}};
  const T counts = d::Multinomial<T>{20, T{0.1, 0.0, 0.6, 0.25, 0.05}}.sample(Shape{4000}, options);
  CHECK(counts.shape() == Shape{4000, 5});
  CHECK(counts.dtype() == DType::i64);
  CHECK(bool(all(equal(sum(counts, 1), 20))));
  CHECK(allclose(mean(counts.astype(DType::f64), 0), T{2.0, 0.0, 12.0, 5.0, 1.0}, 0.0, 0.15));
  CHECK(allclose(var(counts.astype(DType::f64), 0), T{1.8, 0.0, 4.8, 3.75, 0.95}, 0.0, 0.5));
  const T several = d::Multinomial<T>{T{3, 100}, T{{0.5, 0.5}, {0.0, 1.0}}}.sample();
  CHECK(sum(several, 1).template to_vector<int>() == std::vector<int>{3, 100});
  CHECK(several(1).template to_vector<int>() == std::vector<int>{0, 100});

  const T taken = d::MultivariateHypergeometric<T>{T{5, 30, 10}, 12}.sample(Shape{4000}, options);
  CHECK(bool(all(equal(sum(taken, 1), 12))));
  CHECK(bool(all(taken <= T{5, 30, 10})));
  CHECK(allclose(mean(taken.astype(DType::f64), 0), T{12 * 5 / 45.0, 12 * 30 / 45.0, 12 * 10 / 45.0}, 0.0, 0.1));

  const T parts = d::Dirichlet<T>{T{0.5, 2.0, 0.01}}.sample(Shape{4000}, options);
  CHECK(allclose(sum(parts, 1), ones_like(parts(all, 0)), 1e-5));
  CHECK(allclose(mean(parts, 0), T{0.5 / 2.51, 2.0 / 2.51, 0.01 / 2.51}, 0.0, 0.02));
  CHECK(allclose(var(parts, 0)(slice(0, 2)), T{0.5 * 2.01 / (2.51 * 2.51 * 3.51), 2.0 * 0.51 / (2.51 * 2.51 * 3.51)},
                 0.0, 0.006));

  const T covariance = T{{2.0, 0.5}, {0.5, 1.0}};
  const T x = d::MultivariateNormal<T>{T{1.0, -1.0}, covariance}.sample(Shape{8000}, options);
  CHECK(allclose(mean(x, 0), T{1.0, -1.0}, 0.0, 0.06));
  CHECK(allclose(linalg::cov(x.T()), covariance, 0.0, 0.12));
  CHECK_THROWS_WITH_AS((d::Dirichlet<T>{T(1.0)}.sample()),
                       "sample: a distribution of vectors needs a parameter with an axis", ShapeError);
  CHECK_THROWS_WITH_AS((d::MultivariateNormal<T>{T(1.0), covariance}.sample()),
                       "sample: a distribution of vectors needs a parameter with an axis", ShapeError);
  CHECK_THROWS_WITH_AS((d::MultivariateNormal<T>{T(1.0), covariance}.log_prob(T{1.0, 2.0})),
                       "log_prob: a distribution of vectors needs a parameter with an axis", ShapeError);
  CHECK_THROWS_WITH_AS((d::Dirichlet<T>{T{{1.0}, {1.0}}}.sample(Shape{3})),
                       "sample: parameters of shape (2,) do not broadcast to the sample's shape (3,)", ShapeError);
}

TEST_CASE_TEMPLATE("densities are differentiated in their parameters and in what they are asked of", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = T{0.4, 1.3, 2.2}.astype(DType::f64);
  const auto gradient = [&](const auto& f, double at) {
    const T p = T::full({}, at, DType::f64);
    const double got = grad([&](const T& v) { return sum(f(v)); })(p).template item<double>();
    const double h = 1e-5;
    const double want = (sum(f(p + h)).template item<double>() - sum(f(p - h)).template item<double>()) / (2 * h);
    CHECK(got == doctest::Approx(want).epsilon(1e-6));
  };
  gradient([&](const T& v) { return d::Normal<T>{v, 1.5}.log_prob(x); }, 0.7);
  gradient([&](const T& v) { return d::Normal<T>{0.5, v}.cdf(x); }, 0.7);
  gradient([&](const T& v) { return d::Gamma<T>{v, 2.0}.log_prob(x); }, 1.7);
  gradient([&](const T& v) { return d::Gamma<T>{v, 2.0}.cdf(x); }, 1.7);
  gradient([&](const T& v) { return d::Gamma<T>{1.7, v}.cdf(x); }, 2.0);
  gradient([&](const T& v) { return d::Beta<T>{v, 2.0}.cdf(x / 3); }, 1.4);
  gradient([&](const T& v) { return d::StudentT<T>{v, 0.0, 1.0}.log_prob(x); }, 3.0);
  gradient([&](const T& v) { return d::Poisson<T>{v}.log_prob(T{0, 2, 5}); }, 2.5);
  gradient([&](const T& v) { return d::Wald<T>{v, 2.0}.cdf(x); }, 1.3);
  gradient([&](const T& v) { return d::Triangular<T>{0.0, v, 3.0}.cdf(x); }, 1.0);
  gradient([&](const T& v) { return d::VonMises<T>{0.3, v}.log_prob(x); }, 2.5);
  gradient([&](const T& v) { return d::VonMises<T>{v, 2.0}.cdf(x); }, 0.4);
  gradient([&](const T& v) { return d::NoncentralChiSquared<T>{2.5, v}.log_prob(x); }, 3.5);
  gradient([&](const T& v) { return d::NoncentralChiSquared<T>{v, 3.0}.cdf(x); }, 3.5);
  gradient([&](const T& v) { return d::NoncentralF<T>{3.0, 7.0, v}.cdf(x); }, 2.5);
  gradient([&](const T& v) { return d::Zipf<T>{v}.log_prob(T{1, 2, 5}); }, 2.5);
  gradient([&](const T& v) { return d::LogSeries<T>{v}.cdf(T{1, 2, 5}); }, 0.6);
  const T density = grad([](const T& v) { return sum(gammainc(T(ones_like(v) * 2.5), v)); })(x);
  CHECK(allclose(density, exp(d::Gamma<T>{2.5, 1.0}.log_prob(x)), 1e-10));
  const T beta = grad([](const T& v) { return sum(betainc(T(ones_like(v) * 2.0), 3.0, v)); })(x / 3);
  CHECK(allclose(beta, exp(d::Beta<T>{2.0, 3.0}.log_prob(x / 3)), 1e-6));
}
