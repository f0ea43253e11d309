// SPDX-License-Identifier: MIT
// Probabilities of counts out of huge populations, against numbers of sixty digits: differences of logarithms of
// factorials, as SciPy 1.17 takes them, are off by 4 there.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tyto/autodiff.hpp"
#include "tyto/distributions.hpp"
#include "tyto/reduce.hpp"

using namespace tyto;
namespace d = tyto::distributions;

namespace {

using Reals = std::vector<double>;

template <class T>
T reals(const Reals& numbers) {
  return T::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}

void check_near(const Reals& found, const Reals& expected, double relative) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(found[i] - expected[i]) <= relative * std::abs(expected[i]));
  }
}

constexpr double half = 0x1p49, quarter = 0x1p48;

}  // namespace

// Made by mpmath, as those below: loggamma of 60 digits.
TEST_CASE_TEMPLATE("logarithms of probabilities of huge counts have thirteen digits", M, Eager, Lazy) {
  using T = Tensor<M>;
  const auto check = [](const T& found, const Reals& expected) {
    CHECK(found.dtype() == DType::f64);
    check_near(found.template to_vector<double>(), expected, 1e-13);
  };
  check(d::Binomial<T>{0x1p50, 0.5}.log_prob(reals<T>({half, half + 1e7, half - 1e8, half + 5e9})),
        {-17.5544708666433604, -17.7321065505833853, -35.3180392606459427, -44426.4754564567399});
  check(d::Binomial<T>{0x1p50, 0.3}.log_prob(
            reals<T>({337769972052787.0, 337769972052787.0 + 2e7, 337769972052787.0 - 2e8})),
        {-17.4672941730709715, -18.3131783738262729, -102.055724626590466});
  check(d::Binomial<T>{1e15, 2e-15}.log_prob(reals<T>({0, 1, 3, 15, 16, 17, 40})),
        {-2.00000000000000216, -1.30685281944005477, -1.71231792754821799, -19.5020636754417879, -21.5815052171216368,
         -23.7215713806179215, -84.5947524923602821});
  check(d::Binomial<T>{1e15, 1 - 0x1p-49}.log_prob(reals<T>({1e15, 1e15 - 3, 1e15 - 20})),
        {-1.77635683940025204, -1.84442266620820942, -32.6206823506865896});
  check(d::Binomial<T>{20, 0.3}.log_prob(reals<T>({0, 1, 6, 15, 16, 17, 20})),
        {-7.13349887877464726, -4.98506446560785993, -1.65214197509316673, -10.1941134504521548, -12.2045621206450393,
         -14.4987789639685684, -24.0794560865187206});
  check(d::Poisson<T>{reals<T>({1e13, 1e15, 0x1p50, 1e6, 3.5, 3.5, 3.5, 1e15, 1e-200})}.log_prob(
            reals<T>({1e13, 1e15 + 3e7, 0x1p50 - 2e8, 1000100, 0, 16, 40, 3, 20})),
        {-15.885741637665978, -18.6383267411600153, -36.0111874042025941, -7.83174372635364345, -3.5,
         -14.1276526101547849, -63.7101209749426756, -999999999999898.175, -9252.67598843693622});
  check(d::NegativeBinomial<T>{reals<T>({1e13, 1e15, 2.5, 0.3, 1e15, 4}),
                               reals<T>({0.25, 0.5, 1e-12, 0.4, 1 - 0x1p-48, 0.4})}
            .log_prob(reals<T>({3e13, 1e15 + 5e7, 1e12, 5, 4, 0})),
        {-17.1281949625599789, -19.1599003428149878, -28.9157039864000924, -5.07266900692563579, -1.65992059701520523,
         -3.66516292749662004});
  check(d::Hypergeometric<T>{reals<T>({half, half, 1e15, 1e15, 1e15, 1e15, 1e15, 12, 12}),
                             reals<T>({half, half, 3e15, 3e15, 1e15, 1e15, 100, 30, 30}),
                             reals<T>({half, half, 1e10, 1e10, 4, 2e15 - 7, 1e14, 15, 15})}
            .log_prob(reals<T>({quarter, quarter + 1e7, 25e8, 25e8 + 2e5, 2, 1e15 - 3, 1e14 - 12, 4, 0})),
        {-16.8613236860834155, -17.5718664218435146, -11.594874531423614, -22.2614049088652658, -0.980829253011725237,
         -1.29668220243020199, -2.31477901406276622, -1.2944693105723741, -6.45537780774946766});
}

// Two classes are the binomial and the hypergeometric distribution.
TEST_CASE_TEMPLATE("vectors of huge counts have the probabilities of their parts", M, Eager, Lazy) {
  using T = Tensor<M>;
  const auto pair = [](double a, double b) { return reals<T>({a, b}); };
  const T shares = d::Multinomial<T>{T(0x1p50), pair(0.5, 0.5)}.log_prob(pair(half + 1e7, half - 1e7));
  check_near({shares.template item<double>()}, {-17.7321065505833853}, 1e-13);
  const T rare = d::Multinomial<T>{T(1e15), pair(0x1p-49, 1 - 0x1p-49)}.log_prob(pair(3, 1e15 - 3));
  check_near({rare.template item<double>()}, {-1.84442266620820942}, 1e-13);
  const T urns =
      d::MultivariateHypergeometric<T>{pair(half, half), T(half)}.log_prob(pair(quarter + 1e7, quarter - 1e7));
  check_near({urns.template item<double>()}, {-17.5718664218435146}, 1e-13);
}

// Sums of ratios of neighbours, and an integral for the largest population.
TEST_CASE_TEMPLATE("hypergeometric distribution functions of huge populations are sums of their tails", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const auto check = [](double good, double bad, double drawn, const Reals& x, const Reals& expected,
                        double relative = 1e-11) {
    const T found = d::Hypergeometric<T>{good, bad, drawn}.cdf(reals<T>(x));
    check_near(found.template to_vector<double>(), expected, relative);
  };
  check(1e15, 3e15, 40, {6, 10}, {0.0962245934811038352, 0.583904078028789979});
  check(2e5, 3e5, 1e5, {39900, 40300}, {0.236375779028341018, 0.984926076695896533});
  check(1e9, 3e9, 1e9, {249980000, 250005000}, {0.0458485741611666447, 0.66337145469333185});
  // Places of the integral are rounded by some hundredths there.
  check(half, half, half, {quarter, quarter + 1e7, quarter - 3e7},
        {0.500000023778812909, 0.883387600478944049, 0.000174260093086278407}, 1e-8);
  // Nine deviations off.
  const T far = d::Hypergeometric<T>{2e5, 3e5, 1e5}.cdf(reals<T>({38800}));
  check_near(far.template to_vector<double>(), {2.20430217769302309e-18}, 1e-8);
  CHECK(d::Hypergeometric<T>{2e5, 3e5, 1e5}.cdf(reals<T>({-1, 1e5})).template to_vector<double>() == Reals{0, 1});
}

TEST_CASE_TEMPLATE("integers are exact whatever their type, and parameters that are numbers have all digits", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const T k = T::full({1}, (std::int64_t{1} << 49) + 10000000);
  const T integers = d::Binomial<T>{0x1p50, 0.5}.log_prob(k);
  CHECK(integers.dtype() == DType::f32);
  check_near(integers.astype(DType::f64).template to_vector<double>(), {-17.7321065505833853}, 1e-7);
  // In f32 PyTorch has -8 and -7.
  const T narrow = d::Poisson<T>{T::full({1}, 1e6)}.log_prob(T{1000100.0});
  CHECK(narrow.dtype() == DType::f32);
  check_near(narrow.astype(DType::f64).template to_vector<double>(), {-7.83174372635364345}, 1e-7);
  const T half_of_a_million = d::Binomial<T>{1000000, 0.5}.log_prob(T{500100.0});
  check_near(half_of_a_million.astype(DType::f64).template to_vector<double>(), {-7.15354686323553299}, 1e-7);
}

TEST_CASE_TEMPLATE("probabilities of counts are differentiated in all real operands, at their ends too", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const auto gradient = [](const char* name, const auto& f, double at, double expected, double relative = 1e-9) {
    CAPTURE(name);
    CAPTURE(at);
    const T p = T::full({}, at, DType::f64);
    const double got = grad([&](const T& v) { return sum(f(v)); })(p).template item<double>();
    CHECK(got == doctest::Approx(expected).epsilon(relative));
  };
  const auto differences = [&](const char* name, const auto& f, double at, double h) {
    const auto value = [&](double x) { return sum(f(T::full({}, x, DType::f64))).template item<double>(); };
    gradient(name, f, at, (8 * (value(at + h) - value(at - h)) - (value(at + 2 * h) - value(at - 2 * h))) / (12 * h),
             1e-6);
  };
  // k / p - (n - k) / (1 - p).
  gradient(
      "p",
      [](const T& p) {
        return d::Binomial<T>{0x1p50, p}.log_prob(reals<T>({half + 1e7}));
      },
      0.5, 4e7);
  gradient(
      "p of none",
      [](const T& p) {
        return d::Binomial<T>{5, p}.log_prob(reals<T>({0}));
      },
      0.25, -5 / 0.75);
  gradient(
      "p of all",
      [](const T& p) {
        return d::Binomial<T>{5, p}.log_prob(reals<T>({5}));
      },
      0.25, 5 / 0.25);
  // k / rate - 1.
  gradient(
      "rate", [](const T& r) { return d::Poisson<T>{r}.log_prob(reals<T>({1e15 + 3e7})); }, 1e15, 3e-8);
  gradient(
      "rate of none", [](const T& r) { return d::Poisson<T>{r}.log_prob(reals<T>({0})); }, 2.0, -1.0);
  // 1 / n + ... + 1 / (n - k + 1) + log(1 - p).
  const double last = std::log(0.75);
  gradient(
      "n",
      [](const T& n) {
        return d::Binomial<T>{n, 0.25}.log_prob(reals<T>({2}));
      },
      5.0, 1 / 5.0 + 1 / 4.0 + last);
  gradient(
      "n of all",
      [](const T& n) {
        return d::Binomial<T>{n, 0.25}.log_prob(reals<T>({3}));
      },
      3.0, 1 / 3.0 + 1 / 2.0 + 1 + last);
  // log(rate) - digamma(k + 1), with Euler's constant.
  const double euler = 0.57721566490153286;
  gradient(
      "k of 0", [](const T& k) { return d::Poisson<T>{2.0}.log_prob(k); }, 0.0, std::log(2.0) + euler);
  gradient(
      "k of 1", [](const T& k) { return d::Poisson<T>{2.0}.log_prob(k); }, 1.0, std::log(2.0) + euler - 1);
  differences(
      "r",
      [](const T& r) {
        return d::NegativeBinomial<T>{r, 0.3}.log_prob(reals<T>({0, 4, 30}));
      },
      2.5, 1e-3);
  differences(
      "p of r",
      [](const T& p) {
        return d::NegativeBinomial<T>{25.5, p}.log_prob(reals<T>({0, 4, 30}));
      },
      0.3, 1e-3);
  // Real populations are between the integers.
  const Reals k{3, 15, 20};
  differences(
      "good",
      [&](const T& g) {
        return d::Hypergeometric<T>{g, 50.0, 40.0}.log_prob(reals<T>(k));
      },
      30.5, 1e-3);
  differences(
      "bad",
      [&](const T& b) {
        return d::Hypergeometric<T>{30.0, b, 40.0}.log_prob(reals<T>(k));
      },
      50.5, 1e-3);
  differences(
      "drawn",
      [&](const T& n) {
        return d::Hypergeometric<T>{30.0, 50.0, n}.log_prob(reals<T>(k));
      },
      40.5, 1e-3);
  differences(
      "good below",
      [&](const T& g) {
        return d::Hypergeometric<T>{g, 50.0, 40.0}.cdf(reals<T>(k));
      },
      30.5, 1e-3);
  differences(
      "good of many",
      [&](const T& g) {
        return d::Hypergeometric<T>{g, 3e5, 1e5}.cdf(reals<T>({39900, 40100}));
      },
      2e5, 10);
  differences(
      "share",
      [](const T& p) {
        return d::Multinomial<T>{T(9.0), stack({p, 1.0 - p}, -1)}.log_prob(reals<T>({2, 7}));
      },
      0.3, 1e-3);
}
