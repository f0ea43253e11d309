// SPDX-License-Identifier: MIT
// The vector mathematics of every instruction set that this processor has, against long double and committed values.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "devices/cpu/system/instruction_set.hpp"
#include "tests/devices/vector_math_runs.hpp"

namespace vector_math_test {

namespace {

using namespace tyto;

struct TruePoint {
  double x, value;
};
#include "tests/devices/vector_math_truth.inc"

struct Set {
  std::string name;
  const test::VectorMathRuns* runs;
};

std::vector<Set> sets_of_this_processor() {
  std::vector<Set> sets = {{"baseline", &test::baseline::vector_math_runs}};
#if TYTO_HAVE_X86_ISA
  if (cpu::widest_instruction_set() >= cpu::InstructionSet::avx2) {
    sets.push_back({"avx2", &test::avx2::vector_math_runs});
  }
  if (cpu::widest_instruction_set() >= cpu::InstructionSet::avx512) {
    sets.push_back({"avx512", &test::avx512::vector_math_runs});
  }
#endif
  return sets;
}

template <class T>
auto unary(const test::VectorMathRuns& runs) {
  if constexpr (std::is_same_v<T, float>) return runs.unary_f32;
  if constexpr (std::is_same_v<T, double>) return runs.unary_f64;
  if constexpr (std::is_same_v<T, std::int32_t>) return runs.unary_i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return runs.unary_i64;
}
template <class T>
auto binary(const test::VectorMathRuns& runs) {
  if constexpr (std::is_same_v<T, float>) return runs.binary_f32;
  if constexpr (std::is_same_v<T, double>) return runs.binary_f64;
  if constexpr (std::is_same_v<T, std::int32_t>) return runs.binary_i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return runs.binary_i64;
}

template <class Row>
auto find(const Row* rows, std::string_view name) {
  while (rows->name != nullptr && rows->name != name) ++rows;
  REQUIRE_MESSAGE(rows->name != nullptr, "no function ", name);
  return rows->run;
}

template <class T>
std::vector<T> apply(const Set& set, std::string_view name, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  const auto run = find(unary<T>(*set.runs), name);
  for (std::size_t i = 0; i < x.size(); i += 256) run(&x[i], &y[i], std::min<std::size_t>(256, x.size() - i));
  return y;
}
template <class T>
std::vector<T> apply(const Set& set, std::string_view name, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> y(a.size());
  const auto run = find(binary<T>(*set.runs), name);
  for (std::size_t i = 0; i < a.size(); i += 256) run(&a[i], &b[i], &y[i], std::min<std::size_t>(256, a.size() - i));
  return y;
}

/// |result - truth| in units of the last place of T there; infinity where NaN, an infinity or the sign of 0 is wrong.
template <class T>
double ulps(T result, long double truth) {
  using Limits = std::numeric_limits<T>;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(truth) || std::isnan(result)) return std::isnan(truth) && std::isnan(result) ? 0 : wrong;
  if (truth == 0) return result == 0 && std::signbit(result) == std::signbit(truth) ? 0 : wrong;
  if (std::isinf(truth) || std::signbit(result) != std::signbit(truth)) {
    return static_cast<long double>(result) == truth ? 0 : wrong;
  }
  // Infinity stands for the first number past the largest: either may be a rounding away from the truth, which itself
  // may lie far beyond.
  const long double past = std::ldexp(1.0L, Limits::max_exponent);
  const long double bounded = std::min(std::fabs(truth), past);
  const long double magnitude = std::isinf(result) ? past : std::fabs(static_cast<long double>(result));
  const int exponent = std::clamp(std::ilogb(bounded), Limits::min_exponent - 1, Limits::max_exponent - 1);
  return static_cast<double>(std::fabs(magnitude - bounded) / std::ldexp(1.0L, exponent - (Limits::digits - 1)));
}

/// Random bit patterns, ranges where something happens, and the special points of all functions.
template <class T>
std::vector<T> arguments(std::size_t count, unsigned seed) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(seed);
  std::vector<T> x;
  for (std::size_t i = 0; i < count / 4; ++i) {
    const int exponent =
        std::uniform_int_distribution<int>(Limits::min_exponent - Limits::digits, Limits::max_exponent)(random);
    const T mantissa = std::uniform_real_distribution<T>(T(0.5), T(1))(random);
    x.push_back(std::ldexp((random() & 1) != 0 ? mantissa : -mantissa, exponent));
  }
  for (const T range : {T(1), T(4), T(30), T(110), T(750)}) {
    std::uniform_real_distribution<T> uniform(-range, range);
    for (std::size_t i = 0; i < count * 3 / 20; ++i) x.push_back(uniform(random));
  }
  for (int k = 1; k < Limits::digits; ++k) {
    for (const T side : {T(1), T(-1)}) {
      x.push_back(1 + std::ldexp(side, -k));
      x.push_back(-1 - std::ldexp(side, -k));
      x.push_back(std::ldexp(side, k) + T(0.5));
    }
  }
  // Multiples of pi / 2, and the doubles and floats that come closest to one: where reduction of the argument can fail.
  for (int k = 0; k < 3000; ++k) x.push_back(static_cast<T>(k * 1.57079632679489661923L));
  x.push_back(static_cast<T>(6381956970095103.0 * 0x1p797));
  x.push_back(static_cast<T>(0x1.6ac5b262ca1ffp+849));
  x.push_back(static_cast<T>(16367173.0 * 0x1p72));
  for (const T value : {T(0),
                        T(0.5),
                        T(1),
                        T(1.5),
                        T(2),
                        T(2.5),
                        T(3),
                        T(10),
                        T(88.72284),
                        T(89.1),
                        T(89.5),
                        T(103.9),
                        T(104.1),
                        T(709.78),
                        T(710.4),
                        T(710.6),
                        T(745.1),
                        T(746.0),
                        Limits::min(),
                        Limits::max(),
                        Limits::denorm_min(),
                        Limits::infinity(),
                        Limits::min() / 2,
                        std::nextafter(Limits::min(), T(0)),
                        T(1e-5),
                        T(4096)}) {
    x.push_back(value);
    x.push_back(-value);
  }
  x.push_back(Limits::quiet_NaN());
  return x;
}

struct UnaryTruth {
  std::string name;
  long double (*truth)(long double);
  double f32, f64;  // the largest errors allowed, in ulps
};

long double sigmoid(long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
long double softplus(long double x) {
  return std::isnan(x) ? x : std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}
long double sign(long double x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }

using Real = long double;
const UnaryTruth unary_truths[] = {
    {"exp", [](Real x) { return std::exp(x); }, 1.1, 1.1},
    {"exp2", [](Real x) { return std::exp2(x); }, 1.15, 1.15},
    {"expm1", [](Real x) { return std::expm1(x); }, 1.75, 2.3},
    {"sinh", [](Real x) { return std::sinh(x); }, 1.75, 1.75},
    {"cosh", [](Real x) { return std::cosh(x); }, 1.6, 1.6},
    {"tanh", [](Real x) { return std::tanh(x); }, 2.75, 2.75},
    {"sigmoid", sigmoid, 2.25, 2.25},
    {"log", [](Real x) { return std::log(x); }, 1, 1},
    {"log2", [](Real x) { return std::log2(x); }, 1.9, 1.9},
    {"log10", [](Real x) { return std::log10(x); }, 1.9, 1.9},
    {"log1p", [](Real x) { return std::log1p(x); }, 1.4, 1.4},
    {"softplus", softplus, 1.75, 1.75},
    {"log_sigmoid", [](Real x) { return -softplus(-x); }, 1.75, 1.75},
    {"asinh", [](Real x) { return std::asinh(x); }, 1.75, 1.9},
    {"acosh", [](Real x) { return std::acosh(x); }, 2, 2},
    {"atanh", [](Real x) { return std::atanh(x); }, 1.9, 1.9},
    {"sin", [](Real x) { return std::sin(x); }, 1.6, 1.6},
    {"cos", [](Real x) { return std::cos(x); }, 1.6, 1.6},
    {"tan", [](Real x) { return std::tan(x); }, 3.75, 3.5},
    {"sin_run", [](Real x) { return std::sin(x); }, 1.6, 1.6},
    {"cos_run", [](Real x) { return std::cos(x); }, 1.6, 1.6},
    {"tan_run", [](Real x) { return std::tan(x); }, 3.75, 3.5},
    {"asin", [](Real x) { return std::asin(x); }, 2.5, 2.25},
    {"acos", [](Real x) { return std::acos(x); }, 1.25, 1.25},
    {"atan", [](Real x) { return std::atan(x); }, 1.75, 1.5},
    {"cbrt", [](Real x) { return std::cbrt(x); }, 1, 1},
    {"sqrt", [](Real x) { return std::sqrt(x); }, 0.5, 0.5005},
    {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }, 1.5, 1.5},
    {"erf", [](Real x) { return std::erf(x); }, 1.25, 1.4},
    {"erfc", [](Real x) { return std::erfc(x); }, 1, 3.5},
    {"floor", [](Real x) { return std::floor(x); }, 0, 0},
    {"ceil", [](Real x) { return std::ceil(x); }, 0, 0},
    {"trunc", [](Real x) { return std::trunc(x); }, 0, 0},
    {"rint", [](Real x) { return std::nearbyint(x); }, 0, 0},
    {"abs", [](Real x) { return std::fabs(x); }, 0, 0},
    {"sign", sign, 0, 0},
};

template <class T>
void check_unary(const std::vector<T>& x) {
  for (const UnaryTruth& row : unary_truths) {
    std::vector<long double> truth;
    for (const T value : x) truth.push_back(row.truth(value));
    for (const Set& set : sets_of_this_processor()) {
      const std::vector<T> y = apply(set, row.name, x);
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = ulps(y[i], truth[i]);
        if (error > worst) worst = error, at = i;
      }
      const double allowed = sizeof(T) == 4 ? row.f32 : row.f64;
      CHECK_MESSAGE(worst <= allowed, row.name, " of ", sizeof(T) * 8, " bits, ", set.name, ": ", worst, " ulps at ",
                    x[at], ": ", y[at], " for ", truth[at]);
    }
  }
}

/// Where every argument is near zero, so that the runs take the cheap reduction.
template <class T>
std::vector<T> near_arguments() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<T> uniform(-4096, 4096);
  std::vector<T> x;
  for (int k = 0; k < 2600; ++k) x.push_back(static_cast<T>((k % 2 == 0 ? k : -k) * 1.57079632679489661923L));
  for (int i = 0; i < 20000; ++i) x.push_back(uniform(random));
  for (int i = 0; i < 20000; ++i) x.push_back(uniform(random) / 1024);
  return x;
}

/// numpy.remainder: the sign of the divisor.
long double remainder(long double a, long double b) {
  const long double m = std::fmod(a, b);
  if (m == 0) return std::copysign(0.0L, b);
  return (m < 0) != (b < 0) ? m + b : m;
}

struct BinaryTruth {
  std::string name;
  long double (*truth)(long double, long double);
  double f32, f64;
};
const BinaryTruth binary_truths[] = {
    {"pow", [](Real a, Real b) { return std::pow(a, b); }, 1, 1.3},
    {"atan2", [](Real a, Real b) { return std::atan2(a, b); }, 2.5, 2},
    {"hypot", [](Real a, Real b) { return std::hypot(a, b); }, 0.93, 1.3},
    {"copysign", [](Real a, Real b) { return std::copysign(a, b); }, 0, 0},
    {"fmod", [](Real a, Real b) { return std::fmod(a, b); }, 0, 0},
    {"fmod_run", [](Real a, Real b) { return std::fmod(a, b); }, 0, 0},
    {"remainder", remainder, 0.5, 0.5005},
    {"remainder_run", remainder, 0.5, 0.5005},
};

template <class T>
void check_binary(const std::vector<T>& a, const std::vector<T>& b) {
  for (const BinaryTruth& row : binary_truths) {
    std::vector<long double> truth;
    for (std::size_t i = 0; i < a.size(); ++i) truth.push_back(row.truth(a[i], b[i]));
    for (const Set& set : sets_of_this_processor()) {
      const std::vector<T> y = apply(set, row.name, a, b);
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double error = ulps(y[i], truth[i]);
        if (error > worst) worst = error, at = i;
      }
      const double allowed = sizeof(T) == 4 ? row.f32 : row.f64;
      CHECK_MESSAGE(worst <= allowed, row.name, " of ", sizeof(T) * 8, " bits, ", set.name, ": ", worst, " ulps at ",
                    a[at], ", ", b[at], ": ", y[at], " for ", truth[at]);
    }
  }
}

/// Pairs of every kind: shuffled arguments, whole exponents, quotients near integers, and all pairs of special values.
template <class T>
void check_binary_of_all_kinds() {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(11);
  std::vector<T> a = arguments<T>(20000, 1), b = arguments<T>(20000, 2);
  std::shuffle(a.begin(), a.end(), random);
  std::shuffle(b.begin(), b.end(), random);
  std::uniform_real_distribution<T> spread(-300, 300), positive(0, 4);
  for (int i = 0; i < 20000; ++i) {
    a.push_back(positive(random));
    b.push_back(spread(random));
    a.push_back(spread(random));
    b.push_back(std::round(spread(random) / 8));
    const T divisor = spread(random), multiple = std::round(spread(random) * 1000);
    a.push_back(divisor * multiple);
    b.push_back(divisor);
  }
  const std::vector<T> special = {T(0),
                                  T(0.5),
                                  T(1),
                                  T(1.5),
                                  T(2),
                                  T(3),
                                  T(4),
                                  T(7.5),
                                  T(1e10),
                                  T(1e15),
                                  T(1e16),
                                  T(33),
                                  Limits::max(),
                                  Limits::min(),
                                  Limits::denorm_min(),
                                  Limits::infinity(),
                                  Limits::quiet_NaN(),
                                  std::nextafter(T(1), T(2)),
                                  std::nextafter(T(1), T(0))};
  for (const T x : special) {
    for (const T y : special) {
      for (const T u : {x, -x}) {
        for (const T v : {y, -y}) a.push_back(u), b.push_back(v);
      }
    }
  }
  check_binary(a, b);
}

template <class T>
void check_points(const std::string& name, const TruePoint* points, std::size_t count, double allowed) {
  std::vector<T> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<T>(points[i].x));
  for (const Set& set : sets_of_this_processor()) {
    const std::vector<T> y = apply(set, name, x);
    for (std::size_t i = 0; i < count; ++i) {
      const double error = ulps(y[i], points[i].value);
      CHECK_MESSAGE(error <= allowed, name, " of ", sizeof(T) * 8, " bits, ", set.name, ": ", error, " ulps at ", x[i]);
    }
  }
}

template <class T>
void check_lgamma() {
  for (const Set& set : sets_of_this_processor()) {
    const std::vector<T> x = arguments<T>(20000, 9), y = apply(set, "lgamma", x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double truth = std::lgamma(static_cast<long double>(x[i]));
      // Below 0 the function crosses zero between poles, where the error is absolute.
      const double error = x[i] < 0 && std::fabs(truth) < 1e300L
                               ? static_cast<double>(std::fabs(y[i] - truth) / std::fmax(std::fabs(truth), 1.0L)) /
                                     std::numeric_limits<T>::epsilon()
                               : ulps(y[i], truth);
      CHECK_MESSAGE(error <= 6, "lgamma of ", sizeof(T) * 8, " bits, ", set.name, ": ", error, " ulps at ", x[i], ": ",
                    y[i], " for ", truth);
    }
  }
}

/// a and b over all pairs of the numbers where integers go wrong.
template <class T>
void each_pair(std::vector<T>& a, std::vector<T>& b) {
  using Limits = std::numeric_limits<T>;
  for (const T x : {T(0), T(1), T(-1), T(2), T(-2), T(3), T(-3), T(7), T(-7), T(100), T(-100), Limits::max(),
                    Limits::min(), T(Limits::max() - 1), T(Limits::min() + 1)}) {
    for (const T y : {T(0), T(1), T(-1), T(2), T(-2), T(3), T(-3), T(8), T(-8), Limits::max(), Limits::min()}) {
      a.push_back(x), b.push_back(y);
    }
  }
}

/// Wide enough that nothing below overflows; the results are then cut to T.
__extension__ using Wide = __int128;

Wide floor_of_quotient(Wide a, Wide b) {
  if (b == 0) return 0;
  const Wide q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

template <class T>
void check_integers() {
  std::vector<T> a, b;
  each_pair(a, b);
  for (const Set& set : sets_of_this_processor()) {
    INFO(set.name, ", ", sizeof(T) * 8, " bits");
    const std::vector<T> quotient = apply(set, "floor_divide", a, b), remainder = apply(set, "remainder", a, b);
    const std::vector<T> rest = apply(set, "fmod", a, b), least = apply(set, "minimum", a, b),
                         most = apply(set, "maximum", a, b);
    const std::vector<T> magnitude = apply(set, "abs", a), signs = apply(set, "sign", a);
    for (std::size_t i = 0; i < a.size(); ++i) {
      INFO(a[i], " and ", b[i]);
      const Wide x = a[i], y = b[i], q = floor_of_quotient(x, y);
      CHECK(quotient[i] == static_cast<T>(q));
      CHECK(remainder[i] == static_cast<T>(y == 0 ? 0 : x - q * y));
      CHECK(rest[i] == static_cast<T>(y == 0 ? 0 : x % y));
      CHECK(least[i] == std::min(a[i], b[i]));
      CHECK(most[i] == std::max(a[i], b[i]));
      CHECK(magnitude[i] == static_cast<T>(x < 0 ? -x : x));
      CHECK(signs[i] == (x > 0 ? 1 : x < 0 ? -1 : 0));
    }
    const std::vector<T> base = {3, -3, 2, 0, 0, 1, -1, -1, 2, 10, 3},
                         exponent = {4, 3, std::numeric_limits<T>::digits, 0, 5, -3, -3, -2, -1, 0, 1};
    const std::vector<T> power = {81, -27, std::numeric_limits<T>::min(), 1, 0, 1, -1, 1, 0, 1, 3};
    CHECK(apply(set, "pow", base, exponent) == power);
  }
}

/// The rule that removes `power(x, 1)` relies on it.
template <class T>
void check_first_power() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = {Limits::denorm_min(), Limits::min(), Limits::max(),
                      Limits::infinity(),   T(0),          T(2.9907536300193489)};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> mantissa(1, 2);
  constexpr int most = Limits::max_exponent - 2;
  for (int i = 0; i < 4000; ++i)
    x.push_back(std::ldexp(mantissa(random), static_cast<int>(random() % (2 * most)) - most));
  const std::size_t count = x.size();
  for (std::size_t i = 0; i < count; ++i) x.push_back(-x[i]);
  for (const Set& set : sets_of_this_processor()) {
    INFO(set.name);
    const std::vector<T> power = apply(set, "pow", x, std::vector<T>(x.size(), T(1)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      INFO(x[i]);
      CHECK(power[i] == x[i]);
      CHECK(std::signbit(power[i]) == std::signbit(x[i]));
    }
  }
}

/// Functions of two numbers whose results are one of them, as NumPy's of the same name treat NaN.
template <class T>
void check_extremes() {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> a = {1, 2, nan, 3, nan, -5}, b = {2, 1, 3, nan, nan, -5};
  for (const Set& set : sets_of_this_processor()) {
    INFO(set.name, ", ", sizeof(T) * 8, " bits");
    const std::vector<T> most = apply(set, "maximum", a, b), least = apply(set, "minimum", a, b);
    const std::vector<T> larger = apply(set, "fmax", a, b), smaller = apply(set, "fmin", a, b);
    for (const std::size_t i : {2u, 3u, 4u}) {
      CHECK(std::isnan(most[i]));
      CHECK(std::isnan(least[i]));
    }
    for (const std::size_t i : {0u, 1u}) {
      CHECK(most[i] == 2);
      CHECK(least[i] == 1);
      CHECK(larger[i] == 2);
      CHECK(smaller[i] == 1);
    }
    for (const std::size_t i : {2u, 3u}) {
      CHECK(larger[i] == 3);
      CHECK(smaller[i] == 3);
    }
    CHECK(std::isnan(larger[4]));
    CHECK(most[5] == -5);
  }
}

/// Values that numpy.floor_divide prints.
template <class T>
void check_floor_divide() {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> a = {7, -7, 7, -7, T(0.3), 1, -1, 0, T(-0.0), 5, -5, 0, infinity, 1, -1, nan, 6};
  const std::vector<T> b = {2, 2, -2, -2, T(0.1), T(0.1), T(0.1), 3, 3, 0, 0, 0, 2, infinity, infinity, 1, 3};
  const std::vector<T> expected = {
      3, -4, -4, 3, T(sizeof(T) == 4 ? 3 : 2), 9, -10, 0, T(-0.0), infinity, -infinity, nan, nan, 0, -1, nan, 2};
  for (const Set& set : sets_of_this_processor()) {
    for (const char* name : {"floor_divide", "floor_divide_run"}) {
      const std::vector<T> y = apply(set, name, a, b);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const bool same = std::isnan(expected[i])
                              ? std::isnan(y[i])
                              : y[i] == expected[i] && std::signbit(y[i]) == std::signbit(expected[i]);
        CHECK_MESSAGE(same, set.name, ", ", sizeof(T) * 8, " bits: ", a[i], " // ", b[i], " is ", y[i], ", not ",
                      expected[i]);
      }
    }
  }
}

}  // namespace

TEST_CASE("every function of one argument is within its stated error, special values included") {
  check_unary(arguments<float>(40000, 3));
  check_unary(arguments<double>(40000, 4));
}

TEST_CASE("runs whose arguments are all near zero are as exact as any") {
  check_unary(near_arguments<float>());
  check_unary(near_arguments<double>());
}

TEST_CASE("every function of two arguments is within its stated error, special values included") {
  check_binary_of_all_kinds<float>();
  check_binary_of_all_kinds<double>();
}

TEST_CASE("a number to the power 1 is that number in every bit") {
  check_first_power<float>();
  check_first_power<double>();
}

TEST_CASE("dawsn, digamma and erfinv agree with values computed in eighty digits") {
  check_points<float>("dawsn", dawsn_points, std::size(dawsn_points), 1);
  check_points<double>("dawsn", dawsn_points, std::size(dawsn_points), 3);
  check_points<float>("digamma", digamma_points, std::size(digamma_points), 1);
  check_points<double>("digamma", digamma_points, std::size(digamma_points), 12);
  check_points<float>("erfinv", erfinv_points, std::size(erfinv_points), 1);
  check_points<double>("erfinv", erfinv_points, std::size(erfinv_points), 3);
}

TEST_CASE("lgamma has its relative error above zero and an absolute one below") {
  check_lgamma<float>();
  check_lgamma<double>();
}

TEST_CASE("minimum and maximum pass NaN on; fmin and fmax pass it over") {
  check_extremes<float>();
  check_extremes<double>();
}

TEST_CASE("floor_divide gives what NumPy gives") {
  check_floor_divide<float>();
  check_floor_divide<double>();
}

TEST_CASE("integer functions wrap where they overflow and give 0 for a division by zero") {
  check_integers<std::int32_t>();
  check_integers<std::int64_t>();
}

}  // namespace vector_math_test
