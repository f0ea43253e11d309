// Samples of distributions against their own distribution functions, gradients of densities against differences.
#include "tyto/distributions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/weighted_gradient.hpp"
#include "tyto/graph.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"
#include "tyto/special.hpp"
#include "tyto/statistics.hpp"

using namespace tyto;
using namespace tyto::testing;
namespace d = tyto::distributions;

namespace {

constexpr std::int64_t draws = 20000;

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
  const T sorted = sort(x.astype(DType::f64));
  const T below = distribution.cdf(sorted);
  const Numbers expected = below.to_vector<double>(), at = sorted.to_vector<double>();
  double largest = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const bool last_of_equals = i + 1 == at.size() || at[i + 1] != at[i];
    if (whole && !last_of_equals) continue;
    largest = std::max(largest, std::abs(expected[i] - (static_cast<double>(i) + 1) / draws));
  }
  // Kolmogorov's distance at a significance of about 1 in 10,000.
  CHECK(largest < 2.23 / std::sqrt(static_cast<double>(draws)));
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
  CHECK_THROWS_WITH_AS((d::Dirichlet<T>{T{{1.0}, {1.0}}}.sample(Shape{3})),
                       "sample: parameters of shape (2,) do not broadcast to the sample's shape (3,)", ShapeError);
}

TEST_CASE_TEMPLATE("densities are differentiated in their parameters and in what they are asked of", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = T{0.4, 1.3, 2.2}.astype(DType::f64);
  const auto slope = [&](const auto& f, double at) {
    const T p = T::full({}, at, DType::f64);
    const double got = grad([&](const T& v) { return sum(f(v)); })(p).template item<double>();
    const double h = 1e-5;
    const double want = (sum(f(p + h)).template item<double>() - sum(f(p - h)).template item<double>()) / (2 * h);
    CHECK(got == doctest::Approx(want).epsilon(1e-6));
  };
  slope([&](const T& v) { return d::Normal<T>{v, 1.5}.log_prob(x); }, 0.7);
  slope([&](const T& v) { return d::Normal<T>{0.5, v}.cdf(x); }, 0.7);
  slope([&](const T& v) { return d::Gamma<T>{v, 2.0}.log_prob(x); }, 1.7);
  slope([&](const T& v) { return d::Gamma<T>{v, 2.0}.cdf(x); }, 1.7);
  slope([&](const T& v) { return d::Gamma<T>{1.7, v}.cdf(x); }, 2.0);
  slope([&](const T& v) { return d::Beta<T>{v, 2.0}.cdf(x / 3); }, 1.4);
  slope([&](const T& v) { return d::StudentT<T>{v, 0.0, 1.0}.log_prob(x); }, 3.0);
  slope([&](const T& v) { return d::Poisson<T>{v}.log_prob(T{0, 2, 5}); }, 2.5);
  slope([&](const T& v) { return d::Wald<T>{v, 2.0}.cdf(x); }, 1.3);
  slope([&](const T& v) { return d::Triangular<T>{0.0, v, 3.0}.cdf(x); }, 1.0);
  slope([&](const T& v) { return d::VonMises<T>{0.3, v}.log_prob(x); }, 2.5);
  slope([&](const T& v) { return d::VonMises<T>{v, 2.0}.cdf(x); }, 0.4);
  slope([&](const T& v) { return d::NoncentralChiSquared<T>{2.5, v}.log_prob(x); }, 3.5);
  slope([&](const T& v) { return d::NoncentralChiSquared<T>{v, 3.0}.cdf(x); }, 3.5);
  slope([&](const T& v) { return d::NoncentralF<T>{3.0, 7.0, v}.cdf(x); }, 2.5);
  slope([&](const T& v) { return d::Zipf<T>{v}.log_prob(T{1, 2, 5}); }, 2.5);
  slope([&](const T& v) { return d::LogSeries<T>{v}.cdf(T{1, 2, 5}); }, 0.6);
  const T density = grad([](const T& v) { return sum(gammainc(T(ones_like(v) * 2.5), v)); })(x);
  CHECK(allclose(density, exp(d::Gamma<T>{2.5, 1.0}.log_prob(x)), 1e-10));
  const T beta = grad([](const T& v) { return sum(betainc(T(ones_like(v) * 2.0), 3.0, v)); })(x / 3);
  CHECK(allclose(beta, exp(d::Beta<T>{2.0, 3.0}.log_prob(x / 3)), 1e-6));
}
