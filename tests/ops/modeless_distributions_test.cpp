// SPDX-License-Identifier: MIT
// Distributions of tensors of any mode, as layers use them, have the mode of their operands.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tyto/distributions.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"

using namespace tyto;

namespace modeless_distributions_test {

namespace d = distributions;
using A = Tensor<Any>;

template <class M>
A modeless(const Tensor<M>& x) {
  return x.value();
}

template <template <class> class Distribution, class M>
void check(const char* name, const Distribution<Tensor<M>>& distribution, const Distribution<A>& same,
           const Tensor<M>& x, const Shape& shape = {5, 2}) {
  CAPTURE(std::string(name));
  const auto equals = [](const Tensor<M>& expected, const A& found) {
    CHECK(expected.template to_vector<double>() == Tensor<M>(found.value()).template to_vector<double>());
  };
  equals(distribution.log_prob(x).astype(DType::f64), same.log_prob(modeless(x)).astype(DType::f64));
  if constexpr (requires { same.cdf(modeless(x)); }) {
    equals(distribution.cdf(x).astype(DType::f64), same.cdf(modeless(x)).astype(DType::f64));
  }
  const DrawOptions options{.key = Key{3, 4}};
  equals(distribution.sample(shape, options).astype(DType::f64), same.sample(shape, options).astype(DType::f64));
}

TEST_CASE_TEMPLATE("distributions of tensors of any mode are those of the mode of their operands", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T half{0.5, 0.25}, one{1.0, 2.0}, many{7, 9}, few{2, 1};
  const A half_a = modeless(half), one_a = modeless(one), many_a = modeless(many), few_a = modeless(few);
#define TYTO_CHECK_ONE(Name, a, at) check<d::Name>(#Name, d::Name<T>{a}, d::Name<A>{a##_a}, at)
#define TYTO_CHECK_TWO(Name, a, b, at) check<d::Name>(#Name, d::Name<T>{a, b}, d::Name<A>{a##_a, b##_a}, at)
#define TYTO_CHECK_THREE(Name, a, b, c, at) \
  check<d::Name>(#Name, d::Name<T>{a, b, c}, d::Name<A>{a##_a, b##_a, c##_a}, at)

  TYTO_CHECK_TWO(Normal, half, one, half);
  TYTO_CHECK_TWO(LogNormal, half, one, one);
  TYTO_CHECK_ONE(HalfNormal, one, half);
  TYTO_CHECK_TWO(Uniform, half, one, half);
  TYTO_CHECK_ONE(Exponential, one, half);
  TYTO_CHECK_TWO(Laplace, half, one, half);
  TYTO_CHECK_TWO(Logistic, half, one, half);
  TYTO_CHECK_TWO(Gumbel, half, one, half);
  TYTO_CHECK_TWO(Cauchy, half, one, half);
  TYTO_CHECK_TWO(Weibull, half, one, half);
  TYTO_CHECK_TWO(Pareto, half, one, one);
  TYTO_CHECK_TWO(Gamma, half, one, half);
  TYTO_CHECK_ONE(ChiSquared, one, half);
  TYTO_CHECK_TWO(Beta, half, one, half);
  TYTO_CHECK_THREE(StudentT, one, half, one, half);
  TYTO_CHECK_TWO(FisherF, half, one, half);
  TYTO_CHECK_ONE(Rayleigh, one, half);
  TYTO_CHECK_ONE(Power, one, half);
  TYTO_CHECK_TWO(Wald, half, one, half);
  TYTO_CHECK_TWO(VonMises, half, one, half);
  TYTO_CHECK_TWO(NoncentralChiSquared, one, half, one);
  TYTO_CHECK_THREE(NoncentralF, one, one, half, one);
  TYTO_CHECK_ONE(Bernoulli, half, few);
  TYTO_CHECK_TWO(Binomial, many, half, few);
  TYTO_CHECK_ONE(Geometric, half, few);
  TYTO_CHECK_TWO(NegativeBinomial, many, half, few);
  TYTO_CHECK_ONE(Poisson, one, few);
  TYTO_CHECK_THREE(Hypergeometric, many, many, few, few);
  TYTO_CHECK_ONE(LogSeries, half, few);
  TYTO_CHECK_ONE(Zipf, many, few);
  TYTO_CHECK_THREE(Triangular, half, one, many, one);
  check<d::Categorical>("Categorical", d::Categorical<T>{half}, d::Categorical<A>{half_a}, T(0), {5});
  const T shares{0.25, 0.75}, spread{{2.0, 0.5}, {0.5, 1.0}};
  const A shares_a = modeless(shares), spread_a = modeless(spread);
  check<d::Multinomial>("Multinomial", d::Multinomial<T>{T(3), shares}, d::Multinomial<A>{modeless(T(3)), shares_a},
                        few, {5});
  check<d::MultivariateHypergeometric>("MultivariateHypergeometric", d::MultivariateHypergeometric<T>{many, T(3)},
                                       d::MultivariateHypergeometric<A>{many_a, modeless(T(3))}, few, {5});
  check<d::Dirichlet>("Dirichlet", d::Dirichlet<T>{one}, d::Dirichlet<A>{one_a}, shares, {5});
  check<d::MultivariateNormal>("MultivariateNormal", d::MultivariateNormal<T>{half, spread},
                               d::MultivariateNormal<A>{half_a, spread_a}, one, {5});
#undef TYTO_CHECK_ONE
#undef TYTO_CHECK_TWO
#undef TYTO_CHECK_THREE
}

}  // namespace modeless_distributions_test
