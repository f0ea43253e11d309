// SPDX-License-Identifier: MIT
// Densities and distribution functions in half precision.
#include <doctest/doctest.h>

#include "tests/half_precision/composed_case.hpp"

namespace half_precision {

namespace {

namespace d = tyto::distributions;

// x and the parameters of a distribution are the operands in this order.
#define DENSITY(Name, Terms, ...)                  \
  of(                                              \
      #Name, {__VA_ARGS__},                        \
      [](const auto& x) {                          \
        using T = std::decay_t<decltype(x[0])>;    \
        return made<d::Name<T>>(x).log_prob(x[0]); \
      },                                           \
      Terms)
#define DISTRIBUTION(Name, Terms, ...)                                             \
  DENSITY(Name, Terms, __VA_ARGS__), of(                                           \
                                         #Name, {__VA_ARGS__},                     \
                                         [](const auto& x) {                       \
                                           using T = std::decay_t<decltype(x[0])>; \
                                           return made<d::Name<T>>(x).cdf(x[0]);   \
                                         },                                        \
                                         Terms)

template <class D, class T>
D made(const std::vector<T>& x) {
  if constexpr (requires(T t) { D{t, t, t}; }) return D{x[1], x[2], x[3]};
  else if constexpr (requires(T t) { D{t, t}; }) return D{x[1], x[2]};
  else return D{x[1]};
}

}  // namespace

std::vector<Case> cases_of_distributions() {
  const Shape s{12};
  const Operand one = between(0.5, 2, s), share = between(0.1, 0.9, s), number = between(-3, 3, s);
  // At all scales, at those whose exponentials are numbers, and at the first alone where sums are long.
  const Terms all{.condition = 256}, some{.condition = 256, .scales = {1, 5, 1e-2}};
  const Terms linear{.condition = 256, .scales = {1}, .derivatives = 1},
      slow{.condition = 1024, .scales = {1}, .derivatives = 0}, once{.condition = 256, .scales = {1}};
  return {
      DISTRIBUTION(Normal, all, any(s), any(s), positive(s)),
      DISTRIBUTION(LogNormal, all, positive(s), number, one),
      DISTRIBUTION(HalfNormal, all, positive(s), positive(s)),
      DISTRIBUTION(Uniform, all, between(-0.4, 0.4, s), between(-1, -0.5, s), between(0.5, 1, s)),
      DISTRIBUTION(Exponential, all, positive(s), between(0.01, 0.02, s)),
      DISTRIBUTION(Laplace, all, any(s), any(s), positive(s)),
      DISTRIBUTION(Logistic, all, any(s), any(s), positive(s)),
      DISTRIBUTION(Gumbel, some, any(s), number, one),
      DISTRIBUTION(Cauchy, all, any(s), any(s), positive(s)),
      DISTRIBUTION(Weibull, all, positive(s), one, positive(s)),
      DISTRIBUTION(Pareto, all, between(1, 4, s), one, between(0.3, 0.9, s)),
      DISTRIBUTION(Gamma, slow, between(0.1, 5, s), between(0.5, 5, s), one),
      DISTRIBUTION(ChiSquared, slow, between(0.1, 5, s), between(1, 5, s)),
      DISTRIBUTION(Beta, slow, share, between(0.5, 5, s), between(0.5, 5, s)),
      DISTRIBUTION(StudentT, slow, number, between(1, 9, s), number, one),
      DISTRIBUTION(FisherF, slow, between(0.1, 5, s), between(1, 9, s), between(1, 9, s)),
      DISTRIBUTION(Rayleigh, all, positive(s), positive(s)),
      DISTRIBUTION(Power, once, share, between(0.5, 5, s)),
      DISTRIBUTION(Triangular, linear, number, between(-4, -3.5, s), between(-1, 1, s), between(3.5, 4, s)),
      DISTRIBUTION(Wald, all, positive(s), positive(s), positive(s)),
      DISTRIBUTION(VonMises, slow, number, between(-1, 1, s), one),
      DISTRIBUTION(NoncentralChiSquared, slow, between(0.5, 5, s), one, one),
      DISTRIBUTION(NoncentralF, slow, between(0.5, 5, s), between(1, 9, s), between(1, 9, s), one),
      DISTRIBUTION(Bernoulli, once, labels(2, s), share),
      DISTRIBUTION(Binomial, slow, labels(4, s), between(4, 4, s), share),
      DISTRIBUTION(Geometric, slow, between(3, 3, s), share),
      DISTRIBUTION(NegativeBinomial, slow, labels(4, s), between(1, 4, s), share),
      DISTRIBUTION(Poisson, slow, labels(9, s), between(0.5, 8, s)),
      DISTRIBUTION(Hypergeometric, slow, labels(3, s), between(5, 5, s), between(7, 7, s), between(4, 4, s)),
      DISTRIBUTION(Zipf, slow, between(3, 3, s), between(1.5, 4, s)),
      DISTRIBUTION(LogSeries, slow, between(3, 3, s), share),
      DISTRIBUTION(Categorical, once, labels(5, {3}), between(-3, 3, {3, 5})),
      DENSITY(Multinomial, slow, between(2, 2, {3, 4}), between(8, 8, {3}), between(0.25, 0.25, {3, 4})),
      DENSITY(MultivariateHypergeometric, slow, between(1, 1, {3, 4}), between(5, 5, {3, 4}), between(4, 4, {3})),
      DENSITY(Dirichlet, once, between(0.25, 0.25, {3, 4}), between(0.5, 5, {3, 4})),
      of("MultivariateNormal", {any({3, 2}), any({2})},
         [](const auto& x) {
           using T = std::decay_t<decltype(x[0])>;
           return d::MultivariateNormal<T>{x[1], T{{2.0, 0.5}, {0.5, 1.0}}.astype(x[0].dtype())}.log_prob(x[0]);
         },
         {.condition = 256, .scales = {1, 200}}),
  };
}

TEST_CASE("densities and distribution functions round to half precision once") {
  for (const Case& each : cases_of_distributions()) check(each);
}

}  // namespace half_precision
