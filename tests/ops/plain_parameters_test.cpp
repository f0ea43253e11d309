// SPDX-License-Identifier: MIT
// Parameters that are plain numbers keep all digits: densities at f64 numbers are SciPy's to the thirteenth digit.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tyto/distributions.hpp"

using namespace tyto;
namespace d = tyto::distributions;

TEST_CASE_TEMPLATE("densities of distributions with plain numbers are SciPy's to thirteen digits", M, Eager, Lazy) {
  using T = Tensor<M>;
  const auto check = [](const char* name, const auto& distribution, const std::vector<double>& x,
                        const std::vector<double>& expected) {
    CAPTURE(name);
    const T found = distribution.log_prob(T::from(x, {static_cast<std::int64_t>(x.size())}));
    CHECK(found.dtype() == DType::f64);
    const std::vector<double> numbers = found.template to_vector<double>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      CHECK(std::abs(numbers[i] - expected[i]) <= 1e-13 * std::abs(expected[i]));
    }
  };
  check("Normal", d::Normal<T>{0.1, 0.3}, {-2.3, -0.4, 0.1},
        {-31.714965728878738, -1.1038546177676254, 0.28503427112126345});
  check("LogNormal", d::LogNormal<T>{0.1, 0.3}, {0.05, 0.3, 0.9},
        {-49.961224063790091, -7.9573544491174992, 0.15610066793882105});
  check("HalfNormal", d::HalfNormal<T>{0.3}, {0.05, 0.3, 0.9},
        {0.96429256279231979, 0.47818145168120874, -3.5218185483187918});
  check("Uniform", d::Uniform<T>{-0.3, 0.9}, {0.1, 0.7}, {-0.18232155679395459, -0.18232155679395459});
  check("Exponential", d::Exponential<T>{0.3}, {0.05, 0.3, 0.9},
        {-1.218972804325936, -1.2939728043259362, -1.4739728043259361});
  check("Laplace", d::Laplace<T>{0.1, 0.3}, {-2.3, -0.4, 0.1},
        {-7.4891743762340095, -1.1558410429006758, 0.51082562376599083});
  check("Logistic", d::Logistic<T>{0.1, 0.3}, {-2.3, -0.4, 0.1},
        {-6.7966980084198561, -0.80870984011240865, -0.18232155679395445});
  check("Gumbel", d::Gumbel<T>{0.1, 0.3}, {-2.3, -0.4, 0.1},
        {-2971.7540142374023, -2.4238505794774268, 0.20397280432593612});
  check("Cauchy", d::Cauchy<T>{0.1, 0.3}, {-2.3, -0.4, 0.1},
        {-4.1151443514191008, -1.2698930288034063, 0.059242918476535955});
  check("Weibull", d::Weibull<T>{1.3, 0.7}, {0.05, 0.3, 0.9},
        {-0.20503985635447464, 0.032473450684046834, -0.69196410255189589});
  check("Pareto", d::Pareto<T>{1.3, 0.1}, {0.3, 0.9, 1.7},
        {0.038141093524884706, -2.4886671704117673, -3.9514413338677596});
  check("Gamma", d::Gamma<T>{1.3, 0.7}, {0.05, 0.3, 0.9},
        {-1.2892222996786891, -0.92669445891027236, -1.0171107723098396});
  check("ChiSquared", d::ChiSquared<T>{2.3}, {0.05, 0.3, 0.9},
        {-1.2021728900059885, -1.0584089696217804, -1.193617126321564});
  check("Beta", d::Beta<T>{1.3, 0.7}, {0.05, 0.3, 0.55},
        {-1.0360241307737383, -0.40688179513996736, -0.092491228385160884});
  check("StudentT", d::StudentT<T>{4.3, 0.1, 0.3}, {-2.3, -0.4, 0.1},
        {-7.1006418951873496, -1.0932249746500078, 0.22738917608730369});
  check("FisherF", d::FisherF<T>{3.3, 8.1}, {0.05, 0.3, 0.9},
        {-1.0094940155217902, -0.38717786894703643, -0.79634376094036696});
  check("Rayleigh", d::Rayleigh<T>{0.3}, {0.05, 0.3, 0.9},
        {-0.60167555379100768, 0.70397280432593612, -2.1974149070059541});
  check("Power", d::Power<T>{1.3}, {0.05, 0.3, 0.55},
        {-0.63635541759870629, -0.098827576830289809, 0.083013164240804904});
  check("Triangular", d::Triangular<T>{-0.3, 0.1, 0.9}, {-0.2, 0.05, 0.1},
        {-0.87546873735390018, 0.37729423114146809, 0.51082562376599072});
  check("Wald", d::Wald<T>{0.7, 1.3}, {0.05, 0.3, 0.9},
        {-7.5033416641093282, 0.31071981232069812, -0.68867254358396091});
  check("VonMises", d::VonMises<T>{0.1, 1.3}, {-2.3, -0.4, 0.1},
        {-3.1812598827637353, -1.0817907221026322, -0.92264805256011651});
  check("NoncentralChiSquared", d::NoncentralChiSquared<T>{2.3, 1.7}, {0.05, 0.3, 0.9},
        {-2.033773419750915, -1.8002708094275897, -1.733620169539394});
  check("NoncentralF", d::NoncentralF<T>{3.3, 8.1, 1.7}, {0.05, 0.3, 0.9},
        {-1.8013257537421032, -0.92986010728557345, -0.92580071552996823});
  check("Bernoulli", d::Bernoulli<T>{0.3}, {0, 1}, {-0.35667494393873245, -1.2039728043259361});
  check("Binomial", d::Binomial<T>{20, 0.3}, {0, 1, 2}, {-7.1334988787746489, -4.985064465607862, -3.581070527388571});
  check("Geometric", d::Geometric<T>{0.3}, {1, 2, 3}, {-1.2039728043259361, -1.5606477482646686, -1.917322692203401});
  check("NegativeBinomial", d::NegativeBinomial<T>{2.3, 0.3}, {0, 1, 2},
        {-2.7691374499496528, -2.2929032709532815, -2.1488029269795246});
  check("Poisson", d::Poisson<T>{2.3}, {0, 1, 2}, {-2.2999999999999998, -1.467090877064896, -1.3273289346897372});
  check("Hypergeometric", d::Hypergeometric<T>{12, 30, 25}, {0, 1, 2},
        {-14.396063343560066, -10.484040338131919, -7.5471485646008603});
  check("Zipf", d::Zipf<T>{2.3}, {1, 2, 3}, {-0.35936378528339691, -1.953602300571271, -2.8861720492200491});
  check("LogSeries", d::LogSeries<T>{0.3}, {1, 2, 3}, {-0.17304237116721316, -2.0701623560530944, -3.6796002684871949});
}
