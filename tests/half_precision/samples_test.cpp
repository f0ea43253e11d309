// SPDX-License-Identifier: MIT
// Samples of distributions whose parameters are of half precision.
#include <doctest/doctest.h>

#include <cmath>

#include <tyto/distributions.hpp>
#include <tyto/linalg.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"

namespace half_precision {

namespace {

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;
namespace d = tyto::distributions;

constexpr std::int64_t draws = 200'000;  // of f16 each even number would come up some hundred times, 0 and 1 among them

/// Whether samples are finite, and those of f32 (or what else they are computed in) of the same parameters, rounded
/// once.
template <template <class> class Distribution, class M, class... Parameters>
void check(const std::string& name, const Shape& shape, DType computed_in, const Parameters&... parameters) {
  using T = Tensor<M>;
  CAPTURE(name);
  const DrawOptions options{.key = Key{11, 5}};
  for (const DType half : {DType::f16, DType::bf16}) {
    const std::string type(name_of(half));
    CAPTURE(type);
    const auto rounded = [&](const T& parameter) { return parameter.astype(half); };
    const auto widened = [&](const T& parameter) { return rounded(parameter).astype(computed_in); };
    const T found = Distribution<T>{rounded(parameters)...}.sample(shape, options);
    const T wide = Distribution<T>{widened(parameters)...}.sample(shape, options);
    CHECK(isfinite(found).all().template item<bool>());
    CHECK(found.dtype() == (wide.dtype() == computed_in ? half : wide.dtype()));
    CHECK(array_equal(found, wide.astype(found.dtype())));
    // Drawn without a key as well, where no draw is shared.
    CHECK(isfinite(Distribution<T>{rounded(parameters)...}.sample(shape)).all().template item<bool>());
  }
}

template <class M>
void check_all() {
  using T = Tensor<M>;
  const Shape one{draws}, vectors{draws / 4};
#define SAMPLES(Name, ...) check<d::Name, M>(#Name, one, DType::f32, __VA_ARGS__)
  SAMPLES(Normal, T(1.0), T(2.0));
  SAMPLES(LogNormal, T(0.0), T(1.0));
  SAMPLES(HalfNormal, T(2.0));
  SAMPLES(Uniform, T(-1.0), T(3.0));
  SAMPLES(Exponential, T(0.5));
  SAMPLES(Laplace, T(1.0), T(2.0));
  SAMPLES(Logistic, T(1.0), T(2.0));
  SAMPLES(Gumbel, T(1.0), T(2.0));
  // Tails so heavy that the largest f32 draw, at an even number of 2^-25, must be within f16.
  SAMPLES(Cauchy, T(1.0), T(1.0 / 1024));
  SAMPLES(Weibull, T(1.5), T(2.0));
  SAMPLES(Pareto, T(3.0), T(1.0));
  SAMPLES(Gamma, T(0.25), T(2.0));
  SAMPLES(ChiSquared, T(3.0));
  SAMPLES(Beta, T(0.5), T(0.75));
  SAMPLES(StudentT, T(5.0), T(1.0), T(2.0));
  SAMPLES(FisherF, T(5.0), T(8.0));
  SAMPLES(Rayleigh, T(2.0));
  SAMPLES(Power, T(0.5));
  SAMPLES(Triangular, T(-1.0), T(0.5), T(3.0));
  SAMPLES(Wald, T(1.0), T(2.0));
  check<d::VonMises, M>("VonMises", one, DType::f64, T(0.5), T(2.0));
  SAMPLES(NoncentralChiSquared, T(3.0), T(2.0));
  SAMPLES(NoncentralF, T(5.0), T(8.0), T(2.0));
  SAMPLES(Bernoulli, T(0.25));
  SAMPLES(Binomial, T(9.0), T(0.25));
  SAMPLES(Geometric, T(0.25));
  SAMPLES(NegativeBinomial, T(3.0), T(0.25));
  SAMPLES(Poisson, T(4.0));
  SAMPLES(Hypergeometric, T(9.0), T(7.0), T(5.0));
  SAMPLES(Zipf, T(3.0));
  SAMPLES(LogSeries, T(0.5));
  SAMPLES(Categorical, T{0.5, 0.25, -1.0});
#undef SAMPLES
  check<d::Multinomial, M>("Multinomial", vectors, DType::f32, T(8.0), T{0.25, 0.5, 0.25});
  check<d::MultivariateHypergeometric, M>("MultivariateHypergeometric", vectors, DType::f32, T{5.0, 6.0, 7.0}, T(4.0));
  check<d::Dirichlet, M>("Dirichlet", vectors, DType::f32, T{0.25, 0.5, 2.0});
  check<d::MultivariateNormal, M>("MultivariateNormal", vectors, DType::f32, T{1.0, 2.0}, T{{2.0, 0.5}, {0.5, 1.0}});
}

}  // namespace

TEST_CASE("samples of half precision are finite, and those of f32 rounded once") { check_all<Eager>(); }

TEST_CASE("samples of half precision in graphs are finite, and those of f32 rounded once") { check_all<Lazy>(); }

TEST_CASE_TEMPLATE("a rare event is as rare in half precision as its probability says", M, Eager, Lazy) {
  // An even number of f16 is below 2^-14 once in 4096 times: it is rounded to 0 or a few numbers above.
  using T = Tensor<M>;
  const T p = T(0x1p-14).astype(DType::f16);
  const T hits = d::Bernoulli<T>{p}.sample(Shape{1 << 20}, {.key = Key{3, 1}});
  const double count = hits.astype(DType::f64).sum().template item<double>();
  CHECK(std::abs(count - 64) < 5 * 8);  // five deviations
}

}  // namespace half_precision
