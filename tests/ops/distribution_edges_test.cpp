// SPDX-License-Identifier: MIT
// Densities and distribution functions at the edges of supports, in heavy tails, at infinities and of NaN. Expected
// values are SciPy's, or mpmath's with 45 digits.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tyto/autodiff.hpp"
#include "tyto/distributions.hpp"
#include "tyto/graph.hpp"
#include "tyto/reduce.hpp"

using namespace tyto;
namespace d = tyto::distributions;

namespace distribution_edges_test {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
struct Both {
  const char* name;
  std::function<T(const T&)> log_prob, cdf;
};

/// Every distribution of numbers.
template <class T>
std::vector<Both<T>> distributions() {
  std::vector<Both<T>> found;
#define ROW(...)                                                                              \
  found.push_back({#__VA_ARGS__, [=](const T& x) -> T { return d::__VA_ARGS__.log_prob(x); }, \
                   [=](const T& x) -> T { return d::__VA_ARGS__.cdf(x); }});
  ROW(Normal<T>{0.5, 1.5})
  ROW(LogNormal<T>{0.5, 1.5})
  ROW(HalfNormal<T>{1.5})
  ROW(Uniform<T>{-1.0, 2.0})
  ROW(Exponential<T>{1.5})
  ROW(Laplace<T>{0.5, 1.5})
  ROW(Logistic<T>{0.5, 1.5})
  ROW(Gumbel<T>{0.5, 1.5})
  ROW(Cauchy<T>{0.5, 1.5})
  ROW(Weibull<T>{1.5, 2.0})
  ROW(Pareto<T>{1.5, 2.0})
  ROW(Gamma<T>{1.5, 2.0})
  ROW(ChiSquared<T>{3.0})
  ROW(Beta<T>{1.5, 2.0})
  ROW(StudentT<T>{3.0, 0.5, 1.5})
  ROW(FisherF<T>{3.0, 5.0})
  ROW(Rayleigh<T>{1.5})
  ROW(Power<T>{1.5})
  ROW(Triangular<T>{-1.0, 0.5, 3.0})
  ROW(Wald<T>{1.5, 2.0})
  ROW(VonMises<T>{0.5, 2.0})
  ROW(NoncentralChiSquared<T>{3.0, 2.0})
  ROW(NoncentralF<T>{3.0, 5.0, 2.0})
  ROW(Bernoulli<T>{0.3})
  ROW(Binomial<T>{10, 0.3})
  ROW(Geometric<T>{0.3})
  ROW(NegativeBinomial<T>{4, 0.3})
  ROW(Poisson<T>{3.5})
  ROW(Hypergeometric<T>{5, 8, 4})
  ROW(Zipf<T>{2.5})
  ROW(LogSeries<T>{0.8})
  ROW(Categorical<T>{T{0.0, 1.0, 2.0}})
#undef ROW
  return found;
}

template <class T>
double at(const std::function<T(const T&)>& f, double x, DType type) {
  return f(T::full({}, x, type)).astype(DType::f64).template item<double>();
}

TEST_CASE_TEMPLATE("infinities have no density and all or nothing below them, and of NaN all is NaN", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (const auto& [name, log_prob, cdf] : distribution_edges_test::distributions<T>()) {
    for (const DType type : {DType::f32, DType::f64}) {
      CAPTURE(name);
      CAPTURE(type);
      CHECK(std::isnan(at<T>(log_prob, not_a_number, type)));
      CHECK(std::isnan(at<T>(cdf, not_a_number, type)));
      CHECK(at<T>(log_prob, infinity, type) == -infinity);
      CHECK(at<T>(log_prob, -infinity, type) == -infinity);
      CHECK(at<T>(cdf, infinity, type) == 1);
      CHECK(at<T>(cdf, -infinity, type) == 0);
      // The other elements stay as they are.
      const auto mixed = log_prob(T{not_a_number, 1.0, infinity}.astype(type)).astype(DType::f64);
      CHECK(mixed.template to_vector<double>()[1] == at<T>(log_prob, 1.0, type));
      CHECK(std::isfinite(at<T>(cdf, 1.0, type)));
    }
  }
  using V = std::vector<double>;
  const auto vectors = [](const T& found, const V& expected) {
    const V got = found.astype(DType::f64).template to_vector<double>();
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(expected[i])) CHECK(std::isnan(got[i]));
      else CHECK(got[i] == expected[i]);
    }
  };
  const T x{{not_a_number, 0.5}, {infinity, 0.5}, {-infinity, 0.5}, {infinity, not_a_number}};
  const V none{not_a_number, -infinity, -infinity, not_a_number};
  vectors(d::Multinomial<T>{4, T{0.5, 0.5}}.log_prob(x), none);
  vectors(d::MultivariateHypergeometric<T>{T{3, 8}, 4}.log_prob(x), none);
  vectors(d::Dirichlet<T>{T{1.5, 2.0}}.log_prob(x), none);
  vectors(d::MultivariateNormal<T>{T{0.0, 1.0}, T{{2.0, 0.5}, {0.5, 1.0}}}.log_prob(x), none);
}

TEST_CASE("compiled functions agree at infinities and of NaN") {
  using T = Tensor<Lazy>;
  auto f = compile([](const T& x) {
    return std::vector<T>{d::Poisson<T>{3.5}.cdf(x), d::Wald<T>{1.5, 2.0}.log_prob(x)};
  });
  const std::vector<T> found = f(T{not_a_number, infinity, -infinity});
  const auto below = found[0].to_vector<float>(), density = found[1].to_vector<float>();
  CHECK(std::isnan(below[0]));
  CHECK(below[1] == 1);
  CHECK(below[2] == 0);
  CHECK(std::isnan(density[0]));
  CHECK(density[1] == -infinity);
  CHECK(density[2] == -infinity);
}

TEST_CASE_TEMPLATE("at the edge of a support the density is its limit", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (const DType type : {DType::f32, DType::f64}) {
    CAPTURE(type);
    const auto check = [&](const auto& distribution, double x, double expected) {
      CAPTURE(x);
      const double found = distribution.log_prob(T::full({}, x, type)).astype(DType::f64).template item<double>();
      if (std::isinf(expected)) CHECK(found == expected);
      else CHECK(std::abs(found - expected) < (type == DType::f32 ? 2e-7 : 1e-15));
    };
    check(d::Gamma<T>{1.0, 1.0}, 0, 0);
    check(d::Gamma<T>{0.5, 1.0}, 0, infinity);
    check(d::Gamma<T>{2.0, 1.0}, 0, -infinity);
    check(d::Gamma<T>{1.0, 1.0}, -1e-30, -infinity);
    check(d::Beta<T>{1.0, 1.0}, 0, 0);
    check(d::Beta<T>{1.0, 1.0}, 1, 0);
    check(d::Beta<T>{2.0, 1.0}, 1, 0.69314718055994531);
    check(d::Beta<T>{1.0, 2.0}, 0, 0.69314718055994531);
    check(d::Beta<T>{1.0, 40.0}, 0, 3.6888794541139363);
    check(d::Beta<T>{2.0, 1.0}, 0, -infinity);
    check(d::Beta<T>{0.5, 0.5}, 0, infinity);
    check(d::Beta<T>{0.5, 40.0}, 0, infinity);
    check(d::Beta<T>{0.5, 0.5}, 1, infinity);
    check(d::Beta<T>{1.0, 1.0}, 1.5, -infinity);
    check(d::ChiSquared<T>{2.0}, 0, -0.69314718055994531);
    check(d::ChiSquared<T>{1.0}, 0, infinity);
    check(d::FisherF<T>{2.0, 3.0}, 0, 0);
    check(d::FisherF<T>{2.0, 300.0}, 0, 0);
    check(d::FisherF<T>{1.0, 3.0}, 0, infinity);
    check(d::FisherF<T>{3.0, 3.0}, 0, -infinity);
    check(d::Weibull<T>{1.0, 1.0}, 0, 0);
    check(d::Weibull<T>{0.5, 1.0}, 0, infinity);
    check(d::Weibull<T>{2.0, 1.0}, 0, -infinity);
    check(d::Power<T>{1.0}, 0, 0);
    check(d::Power<T>{0.5}, 0, infinity);
    check(d::NoncentralChiSquared<T>{2.0, 1.0}, 0, -1.1931471805599454);
    check(d::NoncentralF<T>{2.0, 5.0, 1.0}, 0, -0.5);
    check(d::NoncentralF<T>{3.0, 5.0, 1.0}, 0, -infinity);
  }
  const auto gradient = [](const auto& distribution, double x) {
    return grad([&](const T& v) { return distribution.log_prob(v); })(T::full({}, x, DType::f64))
        .template item<double>();
  };
  CHECK(gradient(d::Gamma<T>{1.0, 2.0}, 0) == -2);
  CHECK(gradient(d::ChiSquared<T>{2.0}, 0) == -0.5);
  CHECK(gradient(d::Weibull<T>{1.0, 2.0}, 0) == -0.5);
  CHECK(gradient(d::Power<T>{1.0}, 0) == 0);
  CHECK(gradient(d::Beta<T>{1.0, 1.0}, 0) == 0);
  CHECK(gradient(d::Beta<T>{1.0, 3.0}, 0) == doctest::Approx(-2));
  CHECK(gradient(d::Beta<T>{2.0, 1.0}, 1) == doctest::Approx(1));
  CHECK(gradient(d::FisherF<T>{2.0, 4.0}, 0) == doctest::Approx(-1.5));
}

TEST_CASE_TEMPLATE("heavy tails keep what is above them, in f32 too", M, Eager, Lazy) {
  using T = Tensor<M>;
  const auto found = d::FisherF<T>{1.0, 0.1}.cdf(T{1e6, 1e9, 1e12}.astype(DType::f32));
  const std::vector<double> expected{0.58162863149079942, 0.70381575258194389, 0.79031761063885008};
  const auto got = found.astype(DType::f64).template to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(2e-7));
  const double far = d::FisherF<T>{1.0, 0.1}.cdf(T::full({}, 1e16, DType::f64)).template item<double>();
  CHECK(std::abs(far - 0.86769935642442658) < 1e-14);
  CHECK(d::Cauchy<T>{}.cdf(T{-1e8f}).template item<float>() == doctest::Approx(3.1830988618379068e-9).epsilon(2e-7));
  CHECK(d::Cauchy<T>{}.cdf(T::full({}, 0.0, DType::f64)).template item<double>() == 0.5);
  const T gradient = grad([](const T& x) { return d::Cauchy<T>{}.cdf(x); })(T::full({}, 0.0, DType::f64));
  CHECK(gradient.template item<double>() == doctest::Approx(0.31830988618379067));
  // mpmath's; the squares of these are beyond f32.
  CHECK(d::Cauchy<T>{}.log_prob(T{1e30f}).template item<float>() == doctest::Approx(-139.299835496).epsilon(1e-7));
  CHECK(d::Cauchy<T>{1.0, 2.0}.log_prob(T{-3e25f}).template item<float>() ==
        doctest::Approx(-117.778061922).epsilon(1e-7));
}

TEST_CASE_TEMPLATE("the double exponential keeps its lower tail, and its gradient is the density", M, Eager, Lazy) {
  using T = Tensor<M>;
  const d::Laplace<T> laplace{0.5, 1.5};
  const T x = T{-1049.5, -59.5, 0.5, 0.75, 5.0}.astype(DType::f64);
  // exp(-|x - 0.5| / 1.5) is twice the tail, and three times the density.
  const std::vector<double> below = laplace.cdf(x).template to_vector<double>();
  const std::vector<double> gradients =
      grad([&](const T& v) { return sum(laplace.cdf(v)); })(x).template to_vector<double>();
  const std::vector<double> distances{700, 40, 0, 1.0 / 6, 3};
  for (std::size_t i = 0; i < distances.size(); ++i) {
    CAPTURE(i);
    const double tail = std::exp(-distances[i]) / 2;
    CHECK(below[i] == doctest::Approx(i < 2 ? tail : 1 - tail).epsilon(1e-12));
    CHECK(gradients[i] == doctest::Approx(tail / 1.5).epsilon(1e-12));
  }
}

TEST_CASE_TEMPLATE("Student's t of many degrees of freedom is the normal, in f32 too", M, Eager, Lazy) {
  using T = Tensor<M>;
  struct Row {
    double freedom, x, log_prob, cdf;
  };
  for (const auto& [freedom, x, log_prob, cdf] : {Row{1e4, -1, -1.4189885323713394, 0.15866735216521456},
                                                  {1e6, -1, -1.4189390332045894, 0.15865537491678906},
                                                  {1e8, -1, -1.4189385382046727, 0.15865525514131067},
                                                  {1e15, -1, -1.4189385332046732, 0.15865525393145717},
                                                  {1e5, -30, -448.91048947748563, 3.68926843611138e-197},
                                                  {3, -1e8, -72.486387248096753, 1.1026577908435837e-24},
                                                  {30, 0.5, -1.0559017690066196, 0.68963849755743636}}) {
    CAPTURE(freedom);
    for (const DType type : {DType::f32, DType::f64}) {
      const double error = type == DType::f32 ? 1e-6 : 5e-12;
      const d::StudentT<T> t{T::full({}, freedom, type), 0.0, 1.0};
      const T at = T::full({}, x, type);
      CHECK(t.log_prob(at).astype(DType::f64).template item<double>() == doctest::Approx(log_prob).epsilon(error));
      const double below = t.cdf(at).astype(DType::f64).template item<double>();
      CHECK(std::abs(below - cdf) < error * cdf + (type == DType::f32 ? 1e-45 : 0));
    }
  }
  const d::StudentT<T> t{4.0, 0.0, 1.0};
  const T gradient = grad([&](const T& x) { return t.cdf(x); })(T::full({}, 0.0, DType::f64));
  CHECK(gradient.template item<double>() == doctest::Approx(0.375).epsilon(1e-12));
  // Of Gamma, Beta and FisherF too, whose densities are made of the same differences.
  const auto check = [](const T& found, double expected) {
    CHECK(found.template item<float>() == doctest::Approx(expected).epsilon(1e-6));
  };
  check(d::Gamma<T>{T{1e6f}, 1.0}.log_prob(T{1000500.0f}), -7.9521521195138801);
}

TEST_CASE_TEMPLATE("parts that do not add up to one have no density", M, Eager, Lazy) {
  using T = Tensor<M>;
  const d::Dirichlet<T> parts{T{2.0, 3.0}};
  const auto found = parts.log_prob(T{{0.7, 0.7}, {0.25, 0.75}, {0.3, 0.3}, {0.1, 0.9}}).template to_vector<double>();
  CHECK(found[0] == -infinity);
  CHECK(found[1] == doctest::Approx(0.52324814376454787));
  CHECK(found[2] == -infinity);
  CHECK(found[3] == doctest::Approx(-0.028399474521697776));
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const T drawn = d::Dirichlet<T>{T::full({50}, 2.0, type)}.sample(Shape{200}, {.key = Key{3, 1}});
    CHECK(bool(all(isfinite(d::Dirichlet<T>{T::full({50}, 2.0, type)}.log_prob(drawn)))));
  }
}

TEST_CASE_TEMPLATE("noncentral distributions are right up to their limit and NaN beyond it", M, Eager, Lazy) {
  using T = Tensor<M>;
  const auto number = [](double x) { return T::full({}, x, DType::f64); };
  const auto item = [](const T& x) { return x.template item<double>(); };
  const auto squares = [&](double pull) { return d::NoncentralChiSquared<T>{number(3), number(pull)}; };
  const auto quotient = [&](double pull) { return d::NoncentralF<T>{number(5), number(9), number(pull)}; };
  // mpmath and SciPy.
  CHECK(item(squares(2000).cdf(number(2003))) == doctest::Approx(0.5044578031988519).epsilon(1e-12));
  CHECK(item(squares(2000).log_prob(number(1900))) == doctest::Approx(-6.0536679817428779).epsilon(1e-12));
  CHECK(item(quotient(2000).cdf(number(401))) == doctest::Approx(0.43809715716601).epsilon(1e-10));
  CHECK(item(quotient(2000).log_prob(number(401))) == doctest::Approx(-6.18381730953128).epsilon(1e-10));
  for (const double pull : {2001.0, 1e9}) {
    CHECK(std::isnan(item(squares(pull).cdf(number(2003)))));
    CHECK(std::isnan(item(squares(pull).log_prob(number(2003)))));
    CHECK(std::isnan(item(quotient(pull).cdf(number(401)))));
    CHECK(std::isnan(item(quotient(pull).log_prob(number(401)))));
  }
}

TEST_CASE("the gradient of the circular distribution function is the density, at the mean too") {
  using T = Tensor<Eager>;
  for (const double x : {-2.0, 0.25, 0.5, 0.75, 3.0}) {
    const auto at = [](double value) { return T::full({1}, value, DType::f64); };
    const auto cdf = [&](const T& v) { return sum(d::VonMises<T>{at(0.5), at(2.0)}.cdf(v)); };
    const double density = std::exp(d::VonMises<T>{at(0.5), at(2.0)}.log_prob(at(x)).item<double>());
    CHECK(grad(cdf)(at(x)).item<double>() == doctest::Approx(density).epsilon(1e-9));
  }
}

}  // namespace distribution_edges_test
