// SPDX-License-Identifier: MIT
// Incomplete gamma and beta functions, and the distributions that are made of them, of parameters up to 2^53: expected
// values are integrals by mpmath with 45 digits.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tyto/autodiff.hpp"
#include "tyto/distributions.hpp"
#include "tyto/graph.hpp"
#include "tyto/reduce.hpp"
#include "tyto/special.hpp"
#include "tyto/vmap.hpp"

using namespace tyto;
namespace d = tyto::distributions;

namespace incomplete_test {

constexpr double counts_end = 0x1p53;

struct BetaRow {
  double a, b, x, below;
};
const BetaRow beta_rows[] = {{50001, 50000, 0.5, 0.49873843689290163},
                             {500001, 500000, 0.5, 0.49960105781933412},
                             {500000001, 500000000, 0.5, 0.49998738433739305},
                             {1e4, 1e4, 0.5, 0.5},
                             {5001, 5000, 0.5, 0.49601067693030892},
                             {1e5, 1e5 + 1, 0.5, 0.50089206094299951},
                             {4000, 0.5, 0.9975, 7.648465245846868e-6},
                             {0.5, 4000, 0.0001, 0.62890364126673637},
                             {counts_end, counts_end, 0.5000000025, 0.74891796702104307},
                             {counts_end, counts_end, 0.49999999, 0.0036334996952485727},
                             {1e5, 12.5, 0.9998, 0.02912096464689513},
                             {1e12, 1e6, 0.999998999, 0.1584131624448747},
                             {300, 200000, 0.0016, 0.88030870676046699},
                             {2e7, 3e7, 0.40012, 0.95836431715158981},
                             {30, 1e15, 4e-14, 0.95677131784828354},
                             {8, 1e7, 8.5656783178483147e-07, 0.62285413499836898},
                             // The integrand has a plateau before it fades.
                             {0.02, counts_end, 5.3606309666178633e-18, 0.95091531493434661},
                             {0.02, 1e10, 4.8284271245922826e-12, 0.95091531493292342},
                             {0.02, 1e13, 1.9999999999999962e-15, 0.93480976304123347}};

struct GammaRow {
  double a, x, below;
};
const GammaRow gamma_rows[] = {{1e6, 1001000, 0.84134478636834029},
                               {1e9, 999950000, 0.056921341719160557},
                               {1e12, 1000002500000, 0.99379030399968294},
                               {counts_end, 9007199154740992, 0.14601673644923523},
                               {2.5, 7, 0.98439058389973309},
                               {0.3, 0.01, 0.27924099635901486},
                               {2e4, 19500, 0.00018327005188799396},
                               {1e4, 1e4, 0.5013298083399552},
                               {1e7, 1e7, 0.5000420522087237}};

template <class T>
T scalar(double x) {
  return T::full({}, x, DType::f64);
}
template <class T>
void check_close(const T& found, double expected, double error = 4e-15) {
  CHECK(found.dtype() == DType::f64);
  CHECK(std::abs(found.template item<double>() - expected) <= error);
}

TEST_CASE_TEMPLATE("incomplete functions have all digits for parameters up to 2^53", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (const auto& [a, b, x, below] : beta_rows) {
    CAPTURE(a);
    CAPTURE(b);
    CAPTURE(x);
    const T found = betainc(scalar<T>(a), scalar<T>(b), scalar<T>(x));
    check_close(found, below);
    CHECK(std::abs(found.template item<double>() / below - 1) < 3e-13);
    if (x == 0.5) check_close(betainc(scalar<T>(b), scalar<T>(a), scalar<T>(x)), 1 - below);
  }
  for (const auto& [a, x, below] : gamma_rows) {
    CAPTURE(a);
    CAPTURE(x);
    check_close(gammainc(scalar<T>(a), scalar<T>(x)), below);
  }
  CHECK(std::isnan(betainc(scalar<T>(INFINITY), scalar<T>(2), scalar<T>(0.5)).template item<double>()));
  CHECK(std::isnan(gammainc(scalar<T>(INFINITY), scalar<T>(2)).template item<double>()));
}

TEST_CASE("incomplete functions of large parameters are the same in f32, in compiled functions and of batches") {
  using L = Tensor<Lazy>;
  using E = Tensor<Eager>;
  const auto half = betainc(E{1e4f, 1e5f, 3e9f}, E{1e4f, 1e5f, 3e9f}, E{0.5f, 0.5f, 0.5f});
  CHECK(half.dtype() == DType::f32);
  CHECK(half.to_vector<float>() == std::vector<float>{0.5f, 0.5f, 0.5f});
  std::vector<double> a, b, x, below;
  for (const auto& row : beta_rows) {
    a.push_back(row.a), b.push_back(row.b), x.push_back(row.x), below.push_back(row.below);
  }
  const Shape shape{static_cast<std::int64_t>(a.size())};
  auto compiled = compile([](const L& p, const L& q, const L& y) { return betainc(p, q, y); });
  const auto run = compiled(L::from(a, shape), L::from(b, shape), L::from(x, shape)).to_vector<double>();
  const auto batch = vmap([](const E& p, const E& q, const E& y) { return betainc(p, q, y); })(
                         E::from(a, shape), E::from(b, shape), E::from(x, shape))
                         .to_vector<double>();
  for (std::size_t i = 0; i < below.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(run[i] - below[i]) < 4e-15);
    CHECK(std::abs(batch[i] - below[i]) < 4e-15);
  }
}

TEST_CASE_TEMPLATE("gradients of incomplete functions are densities, at the mean too", M, Eager, Lazy) {
  using T = Tensor<M>;
  struct Row {
    double a, b, x, density;
  };
  for (const auto& [a, b, x, density] : {Row{5001, 5000, 0.5, 79.786461393821538},
                                         {4000, 0.5, 0.9975, 0.032075690482911254},
                                         {1e5, 12.5, 0.9998, 1378.0401305346002},
                                         {2e7, 3e7, 0.40012, 1284.8360909801141},
                                         {40, 40, 0.5, 7.114230301912578}}) {
    CAPTURE(a);
    const T gradient = grad([&](const T& y) { return betainc(scalar<T>(a), scalar<T>(b), y); })(scalar<T>(x));
    CHECK(std::abs(gradient.template item<double>() / density - 1) < 1e-11);
  }
  for (const auto& [a, b, x, density] : {Row{1e6, 0, 1001000, 0.00024180950473148183},
                                         {1e9, 0, 999950000, 3.6144779724570993e-6},
                                         {2.5, 0, 7, 0.012704263325999477},
                                         {1e4, 0, 1e4, 0.0039893895589628256}}) {
    CAPTURE(a);
    const T gradient = grad([&](const T& y) { return gammainc(scalar<T>(a), y); })(scalar<T>(x));
    CHECK(std::abs(gradient.template item<double>() / density - 1) < 1e-11);
  }
  // In the parameters, against differences.
  const auto by_a = [](const T& a) { return betainc(a, scalar<T>(900), scalar<T>(0.52)); };
  const double h = 1e-3, found = grad(by_a)(scalar<T>(1000)).template item<double>();
  const double above = by_a(scalar<T>(1000 + h)).template item<double>(),
               below = by_a(scalar<T>(1000 - h)).template item<double>();
  CHECK(found == doctest::Approx((above - below) / (2 * h)).epsilon(1e-7));
}

TEST_CASE_TEMPLATE("distribution functions of counts up to 2^53 have all digits", M, Eager, Lazy) {
  using T = Tensor<M>;
  struct Row {
    double count, probability, x, below;
  };
  for (const auto& [n, p, k, below] : {Row{10000, 0.5, 5000, 0.50398932306969108},
                                       {1e5, 0.5, 50000, 0.50126156310709837},
                                       {1e6, 0.5, 500000, 0.50039894218066588},
                                       {1e9, 0.5, 5e8, 0.50001261566260695},
                                       {counts_end, 0.5, 0x1p52, 0.50000000420353996},
                                       {counts_end, 0.25, 2251799913685248, 0.99252007212466984},
                                       {1e15, 1e-14, 12, 0.79155647639487529}}) {
    CAPTURE(n);
    check_close(d::Binomial<T>{scalar<T>(n), p}.cdf(k), below);
  }
  for (const auto& [n, p, k, below] : {Row{1e5, 0.5, 1e5, 0.50089206094299951},
                                       {1e12, 0.25, 3e12 - 1e6, 0.38641516971058555},
                                       {2.5, 1e-9, 3e9, 0.69378108221919989}}) {
    CAPTURE(n);
    check_close(d::NegativeBinomial<T>{scalar<T>(n), p}.cdf(k), below);
  }
  for (const auto& [rate, unused, k, below] : {Row{1e6, 0, 1e6, 0.50026596148628365},
                                               {1e12, 0, 1e12 - 2e6, 0.022750131948170209},
                                               {counts_end, 0, counts_end, 0.49999999859882001}}) {
    CAPTURE(rate);
    check_close(d::Poisson<T>{scalar<T>(rate)}.cdf(k), below);
  }
  const double tail = d::Poisson<T>{scalar<T>(700)}.cdf(400).template item<double>();
  CHECK(std::abs(tail / 3.9151132876007674e-35 - 1) < 1e-12);
  for (const double a : {1e4, 1e5}) {
    check_close(d::Beta<T>{scalar<T>(a), a}.cdf(0.5), 0.5);
    check_close(d::FisherF<T>{scalar<T>(a), a}.cdf(1.0), 0.5);
  }
  CHECK(d::Binomial<T>{1e5, 0.5}.cdf(T{50000.0f}).template item<float>() == static_cast<float>(0.50126156310709837));
}

}  // namespace incomplete_test
