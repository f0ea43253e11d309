// SPDX-License-Identifier: MIT
// Calls of NumPy's functions that are made of operators, and of distributions.
#include <stdexcept>

#include "tests/golden/calls.hpp"
#include "tyto/bits.hpp"
#include "tyto/calculus.hpp"
#include "tyto/distributions.hpp"
#include "tyto/linalg.hpp"
#include "tyto/polynomials.hpp"
#include "tyto/special.hpp"
#include "tyto/statistics.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

Overlap overlap(const json& a) {
  const std::string name = a.at("overlap");
  return name == "full" ? Overlap::full : name == "same" ? Overlap::same : Overlap::valid;
}

BitOrder bit_order(const json& a) { return a.at("order") == "big" ? BitOrder::big : BitOrder::little; }

/// A number among the arguments that may be left out.
std::optional<std::int64_t> number(const json& a, const char* name) {
  if (a.at(name).is_null()) return {};
  return a.at(name).get<std::int64_t>();
}

/// The last of several inputs, or a number among the arguments.
template <class M>
Tensor<M> spacing(const json& a, const Tensors<M>& in) {
  return in.size() > 1 ? in.at(1) : Tensor<M>(a.at("step").get<double>());
}

template <class M>
using Asked = Tensor<M> (*)(const std::string& what, const Tensors<M>& in);

/// A distribution whose parameters are the inputs behind the first one.
template <template <class> class D, class M>
Tensor<M> asked(const std::string& what, const Tensors<M>& in) {
  using T = Tensor<M>;
  D<T> distribution;
  if constexpr (requires { D<T>{T(), T(), T()}; }) distribution = D<T>{in.at(1), in.at(2), in.at(3)};
  else if constexpr (requires { D<T>{T(), T()}; }) distribution = D<T>{in.at(1), in.at(2)};
  else distribution = D<T>{in.at(1)};
  return what == "cdf" ? distribution.cdf(in.at(0)) : distribution.log_prob(in.at(0));
}

/// One that has no distribution function.
template <template <class> class D, class M>
Tensor<M> asked_of_vectors(const std::string&, const Tensors<M>& in) {
  using T = Tensor<M>;
  D<T> distribution;
  if constexpr (requires { D<T>{T(), T()}; }) distribution = D<T>{in.at(1), in.at(2)};
  else distribution = D<T>{in.at(1)};
  return distribution.log_prob(in.at(0));
}

template <class M>
Tensor<M> distribution_call(const json& a, const Tensors<M>& in) {
  namespace d = distributions;
  static const std::map<std::string, Asked<M>> table = {
      {"normal", asked<d::Normal, M>},
      {"log_normal", asked<d::LogNormal, M>},
      {"half_normal", asked<d::HalfNormal, M>},
      {"uniform", asked<d::Uniform, M>},
      {"exponential", asked<d::Exponential, M>},
      {"laplace", asked<d::Laplace, M>},
      {"logistic", asked<d::Logistic, M>},
      {"gumbel", asked<d::Gumbel, M>},
      {"cauchy", asked<d::Cauchy, M>},
      {"weibull", asked<d::Weibull, M>},
      {"pareto", asked<d::Pareto, M>},
      {"gamma", asked<d::Gamma, M>},
      {"chi_squared", asked<d::ChiSquared, M>},
      {"beta", asked<d::Beta, M>},
      {"student_t", asked<d::StudentT, M>},
      {"fisher_f", asked<d::FisherF, M>},
      {"bernoulli", asked<d::Bernoulli, M>},
      {"binomial", asked<d::Binomial, M>},
      {"geometric", asked<d::Geometric, M>},
      {"negative_binomial", asked<d::NegativeBinomial, M>},
      {"poisson", asked<d::Poisson, M>},
      {"rayleigh", asked<d::Rayleigh, M>},
      {"power", asked<d::Power, M>},
      {"triangular", asked<d::Triangular, M>},
      {"wald", asked<d::Wald, M>},
      {"von_mises", asked<d::VonMises, M>},
      {"noncentral_chi_squared", asked<d::NoncentralChiSquared, M>},
      {"noncentral_f", asked<d::NoncentralF, M>},
      {"hypergeometric", asked<d::Hypergeometric, M>},
      {"zipf", asked<d::Zipf, M>},
      {"log_series", asked<d::LogSeries, M>},
      {"multinomial", asked_of_vectors<d::Multinomial, M>},
      {"multivariate_hypergeometric", asked_of_vectors<d::MultivariateHypergeometric, M>},
      {"dirichlet", asked_of_vectors<d::Dirichlet, M>},
      {"multivariate_normal", asked_of_vectors<d::MultivariateNormal, M>}};
  std::string name = a.at("name");
  if (const auto variant = name.find("_of_"); variant != std::string::npos) name.resize(variant);
  return table.at(name)(a.at("what"), in);
}

}  // namespace

template <class M>
void add_numerics_calls(Calls<M>& calls) {
  using A = const json&;
  using T = Tensor<M>;
  using Inputs = const Tensors<M>&;
  const auto reduction = [&](const char* name, T (*f)(const T&, const Axes&, KeepDims)) {
    calls[name] = [f](A a, Inputs in) {
      return Tensors<M>{f(in.at(0), axes(a.at("axes")), a.value("keepdims", false))};
    };
  };
  reduction("nansum", nansum<M>);
  reduction("nanprod", nanprod<M>);
  reduction("nanmean", nanmean<M>);
  reduction("nanmin", nanmin<M>);
  reduction("nanmax", nanmax<M>);
  reduction("nanmedian", nanmedian<M>);
  reduction("median", median<M>);
  reduction("ptp", ptp<M>);
  calls["nanvar"] = [](A a, Inputs in) {
    return Tensors<M>{nanvar(in.at(0), axes(a.at("axes")), a.at("keepdims").get<bool>())};
  };
  calls["nanstd"] = [](A a, Inputs in) {
    return Tensors<M>{nanstd(in.at(0), axes(a.at("axes")), a.at("keepdims").get<bool>())};
  };
  calls["nanquantile"] = [](A a, Inputs in) {
    return Tensors<M>{nanquantile(in.at(0), a.at("q"), axes(a.at("axes")))};
  };
  calls["quantile"] = [](A a, Inputs in) {
    return Tensors<M>{quantile(in.at(0), a.at("q").get<double>(), axes(a.at("axes")))};
  };
  calls["average"] = [](A a, Inputs in) { return Tensors<M>{average(in.at(0), in.at(1), axes(a.at("axes")))}; };
  calls["moving_sum"] = [](A a, Inputs in) {
    return Tensors<M>{moving_sum(in.at(0), a.at("before"), a.at("after"), a.at("axis"))};
  };
  calls["bincount"] = [](A a, Inputs in) {
    return Tensors<M>{bincount(in.at(0), a.at("length").get<std::int64_t>(), in.size() > 1 ? in.at(1) : T())};
  };
  calls["digitize"] = [](A a, Inputs in) { return Tensors<M>{digitize(in.at(0), in.at(1), a.at("right"))}; };
  calls["diff"] = [](A a, Inputs in) { return Tensors<M>{diff(in.at(0), a.at("order"), a.at("axis"))}; };
  calls["gradient"] = [](A a, Inputs in) {
    return Tensors<M>{gradient(in.at(0), a.at("axis"), spacing(a, in), a.at("edge"))};
  };
  calls["trapezoid"] = [](A a, Inputs in) { return Tensors<M>{trapezoid(in.at(0), a.at("axis"), spacing(a, in))}; };
  calls["cumulative_trapezoid"] = [](A a, Inputs in) {
    return Tensors<M>{cumulative_trapezoid(in.at(0), a.at("axis"), spacing(a, in))};
  };
  calls["interp"] = [](A, Inputs in) { return Tensors<M>{interp(in.at(0), in.at(1), in.at(2))}; };
  calls["convolve"] = [](A a, Inputs in) { return Tensors<M>{convolve(in.at(0), in.at(1), overlap(a))}; };
  calls["correlate"] = [](A a, Inputs in) { return Tensors<M>{correlate(in.at(0), in.at(1), overlap(a))}; };
  calls["polyval"] = [](A, Inputs in) { return Tensors<M>{polyval(in.at(0), in.at(1))}; };
  calls["polyfit"] = [](A a, Inputs in) { return Tensors<M>{polyfit(in.at(0), in.at(1), a.at("degree"))}; };
  calls["polyint"] = [](A, Inputs in) { return Tensors<M>{polyint(in.at(0))}; };
  calls["polyder"] = [](A, Inputs in) { return Tensors<M>{polyder(in.at(0))}; };
  calls["polydiv"] = [](A, Inputs in) {
    const auto [quotient, remainder] = polydiv(in.at(0), in.at(1));
    return Tensors<M>{quotient, remainder};
  };
  calls["poly"] = [](A, Inputs in) { return Tensors<M>{poly(in.at(0))}; };
  calls["polyadd"] = [](A, Inputs in) { return Tensors<M>{polyadd(in.at(0), in.at(1))}; };
  calls["polysub"] = [](A, Inputs in) { return Tensors<M>{polysub(in.at(0), in.at(1))}; };
  calls["polymul"] = [](A, Inputs in) { return Tensors<M>{polymul(in.at(0), in.at(1))}; };
  calls["packbits"] = [](A a, Inputs in) { return Tensors<M>{packbits(in.at(0), number(a, "axis"), bit_order(a))}; };
  calls["unpackbits"] = [](A a, Inputs in) {
    return Tensors<M>{unpackbits(in.at(0), number(a, "axis"), number(a, "count"), bit_order(a))};
  };
  calls["histogramdd"] = [](A, Inputs in) {
    return Tensors<M>{histogramdd(in.at(0), Tensors<M>(in.begin() + 1, in.end()))};
  };
  calls["matvec"] = [](A, Inputs in) { return Tensors<M>{matvec(in.at(0), in.at(1))}; };
  calls["vecmat"] = [](A, Inputs in) { return Tensors<M>{vecmat(in.at(0), in.at(1))}; };
  calls["tensorsolve"] = [](A a, Inputs in) {
    IntList axes;
    for (const json& axis : a.at("axes")) axes.push_back(axis.get<std::int64_t>());
    return Tensors<M>{linalg::tensorsolve(in.at(0), in.at(1), axes)};
  };
  calls["tensorinv"] = [](A a, Inputs in) { return Tensors<M>{linalg::tensorinv(in.at(0), a.at("axes"))}; };
  calls["logaddexp2"] = [](A, Inputs in) { return Tensors<M>{logaddexp2(in.at(0), in.at(1))}; };
  calls["sinc"] = [](A, Inputs in) { return Tensors<M>{sinc(in.at(0))}; };
  calls["i0"] = [](A, Inputs in) { return Tensors<M>{i0(in.at(0))}; };
  calls["deg2rad"] = [](A, Inputs in) { return Tensors<M>{deg2rad(in.at(0))}; };
  calls["signbit"] = [](A, Inputs in) { return Tensors<M>{signbit(in.at(0))}; };
  calls["nan_to_num"] = [](A, Inputs in) { return Tensors<M>{nan_to_num(in.at(0))}; };
  calls["isclose"] = [](A, Inputs in) { return Tensors<M>{isclose(in.at(0), in.at(1))}; };
  calls["heaviside"] = [](A, Inputs in) { return Tensors<M>{heaviside(in.at(0), in.at(1))}; };
  calls["frexp"] = [](A, Inputs in) {
    const auto [mantissa, exponent] = frexp(in.at(0));
    return Tensors<M>{mantissa, exponent};
  };
  calls["nextafter"] = [](A, Inputs in) { return Tensors<M>{nextafter(in.at(0), in.at(1))}; };
  calls["unwrap"] = [](A a, Inputs in) { return Tensors<M>{unwrap(in.at(0), a.at("axis"), a.at("period"))}; };
  calls["bitwise_count"] = [](A, Inputs in) { return Tensors<M>{bitwise_count(in.at(0))}; };
  calls["gammainc"] = [](A, Inputs in) { return Tensors<M>{gammainc(in.at(0), in.at(1))}; };
  calls["betainc"] = [](A, Inputs in) { return Tensors<M>{betainc(in.at(0), in.at(1), in.at(2))}; };
  calls["distribution"] = [](A a, Inputs in) { return Tensors<M>{distribution_call(a, in)}; };
}
template void add_numerics_calls(Calls<Eager>&);
template void add_numerics_calls(Calls<Lazy>&);

}  // namespace tyto::golden
