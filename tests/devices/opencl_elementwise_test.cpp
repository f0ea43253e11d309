// SPDX-License-Identifier: MIT
// Element-wise operators on OpenCL against values computed on the host in long double.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "core/graph/op_ids.hpp"
#include "devices/opencl/text/expressions.hpp"
#include "tests/devices/opencl_rig.hpp"

namespace opencl_elementwise_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::OpId;

namespace {

using Real = long double;

struct RealCase {
  OpId op;
  double low, high;
  std::function<Real(Real, Real, Real)> expected;
};

Real digamma(Real x) {
  Real sum = 0;
  for (; x < 90; x += 1) sum -= 1 / x;
  const Real z = 1 / (x * x);
  return sum + std::log(x) - 1 / (2 * x) - z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z / 240)));
}
Real trigamma(Real x) {
  Real sum = 0;
  for (; x < 90; x += 1) sum += 1 / (x * x);
  const Real z = 1 / (x * x);
  return sum + 1 / x + z / 2 + z / x * (1.0L / 6 - z * (1.0L / 30 - z * (1.0L / 42 - z / 30)));
}
// Dawson's integral by its Maclaurin series with all terms positive: exp(-x^2) times the integral of exp(t^2).
Real dawsn(Real x) {
  Real term = x, sum = 0;
  for (int n = 0; n < 400; ++n) {
    sum += term / (2 * n + 1);
    term *= x * x / (n + 1);
  }
  return sum * std::exp(-x * x);
}
Real erfinv(Real x) {
  Real low = -6, high = 6;
  for (int i = 0; i < 200; ++i) (std::erf((low + high) / 2) < x ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}
Real sign(Real x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
Real softplus(Real x) { return x != x ? x : std::max<Real>(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
Real logistic(Real x) { return 1 / (1 + std::exp(-x)); }
Real floored(Real a, Real b) { return std::floor(a / b); }

#define UNARY(name, low, high, value)                                       \
  RealCase {                                                                \
    OpId::name, low, high, [](Real x, Real, Real) -> Real { return value; } \
  }
#define BINARY(name, low, high, value)                                        \
  RealCase {                                                                  \
    OpId::name, low, high, [](Real a, Real b, Real) -> Real { return value; } \
  }

const std::vector<RealCase>& unary_cases() {
  static const std::vector<RealCase> cases = {
      UNARY(negate, -30, 30, -x),
      UNARY(abs, -30, 30, std::fabs(x)),
      UNARY(sign, -30, 30, sign(x)),
      UNARY(square, -30, 30, x * x),
      UNARY(reciprocal, 0.1, 30, 1 / x),
      UNARY(sqrt, 0.001, 900, std::sqrt(x)),
      UNARY(rsqrt, 0.1, 30, 1 / std::sqrt(x)),
      UNARY(cbrt, -30, 30, std::cbrt(x)),
      UNARY(exp, -30, 30, std::exp(x)),
      UNARY(exp2, -8, 8, std::exp2(x)),
      UNARY(exp10, -8, 8, std::pow(10.0L, x)),
      UNARY(expm1, -8, 8, std::expm1(x)),
      UNARY(log, 0.001, 900, std::log(x)),
      UNARY(log2, 0.001, 900, std::log2(x)),
      UNARY(log10, 0.001, 900, std::log10(x)),
      UNARY(log1p, -0.99, 0.99, std::log1p(x)),
      UNARY(sin, -30, 30, std::sin(x)),
      UNARY(cos, -30, 30, std::cos(x)),
      UNARY(tan, -1.5, 1.5, std::tan(x)),
      UNARY(asin, -0.99, 0.99, std::asin(x)),
      UNARY(acos, -0.99, 0.99, std::acos(x)),
      UNARY(atan, -30, 30, std::atan(x)),
      UNARY(sinh, -8, 8, std::sinh(x)),
      UNARY(cosh, -8, 8, std::cosh(x)),
      UNARY(tanh, -8, 8, std::tanh(x)),
      UNARY(asinh, -30, 30, std::asinh(x)),
      UNARY(acosh, 1, 40, std::acosh(x)),
      UNARY(atanh, -0.99, 0.99, std::atanh(x)),
      UNARY(sigmoid, -30, 30, logistic(x)),
      UNARY(log_sigmoid, -30, 30, -softplus(-x)),
      UNARY(softplus, -30, 30, softplus(x)),
      UNARY(softsign, -30, 30, x / (1 + std::fabs(x))),
      UNARY(silu, -30, 30, x * logistic(x)),
      UNARY(gelu, -8, 8, 0.5L * x * (1 + std::erf(x * std::sqrt(0.5L)))),
      UNARY(relu, -30, 30, x > 0 ? x : 0),
      UNARY(erf, -8, 8, std::erf(x)),
      UNARY(erfc, -8, 8, std::erfc(x)),
      UNARY(erfinv, -0.99, 0.99, erfinv(x)),
      UNARY(dawsn, -8, 8, dawsn(x)),
      UNARY(lgamma, 0.1, 30, std::lgamma(x)),
      UNARY(digamma, 0.1, 30, digamma(x)),
      UNARY(trigamma, 0.1, 30, trigamma(x)),
      UNARY(floor, -30, 30, std::floor(x)),
      UNARY(ceil, -30, 30, std::ceil(x)),
      UNARY(round, -30, 30, std::nearbyint(x)),
      UNARY(trunc, -30, 30, std::trunc(x)),
  };
  return cases;
}

const std::vector<RealCase>& other_cases() {
  static const std::vector<RealCase> cases = {
      BINARY(add, -9, 9.3, a + b),
      BINARY(subtract, -9, 9.3, a - b),
      BINARY(multiply, -9, 9.3, a * b),
      BINARY(divide, 0.2, 6, a / b),
      BINARY(floor_divide, 0.2, 6, floored(a, b)),
      BINARY(remainder, -9, 9.3, a - b * floored(a, b)),
      BINARY(fmod, -9, 9.3, std::fmod(a, b)),
      BINARY(power, 0.2, 6, std::pow(a, b)),
      BINARY(maximum, -9, 9.3, std::max(a, b)),
      BINARY(minimum, -9, 9.3, std::min(a, b)),
      BINARY(fmax, -9, 9.3, std::max(a, b)),
      BINARY(fmin, -9, 9.3, std::min(a, b)),
      BINARY(atan2, -9, 9.3, std::atan2(a, b)),
      BINARY(hypot, -9, 9.3, std::hypot(a, b)),
      BINARY(logaddexp, -9, 9.3, std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)))),
      BINARY(copysign, -9, 9.3, std::copysign(a, b)),
      RealCase{OpId::fma, -9, 9.3, [](Real a, Real b, Real c) -> Real { return a * b + c; }},
      RealCase{OpId::clip, -9, 9.3, [](Real a, Real b, Real c) -> Real { return std::min(std::max(a, b), c); }},
  };
  return cases;
}

// The tolerance of a result: in units of the type's spacing at the result, beside a floor for results
// that are small differences of large numbers.
double tolerance(OpId op, DType dtype, Real expected) {
  const double spacing = dtype == DType::f16    ? 0x1p-11
                         : dtype == DType::bf16 ? 0x1p-8
                         : dtype == DType::f32  ? 0x1p-24
                                                : 0x1p-53;
  double units = 8;
  // The error that OpenCL (1.2, section 7.4) allows a driver's own function: 16 units in the last place.
  if (dtype == DType::f32 && (op == OpId::erf || op == OpId::erfc || op == OpId::power)) units = 32;
  double floor = dtype == DType::f16 ? 0x1p-24 : 0;
  // Built from sums whose terms exceed the result near its zeros.
  if (op == OpId::lgamma || op == OpId::digamma || op == OpId::logaddexp || op == OpId::erfinv || op == OpId::dawsn ||
      op == OpId::remainder || op == OpId::fmod || op == OpId::fma || op == OpId::gelu) {
    units = 24;
    floor = 16 * std::min(spacing, 0x1p-24);
  }
  return std::max(units * spacing * static_cast<double>(std::fabs(expected)), floor);
}

double largest(DType dtype) {
  return dtype == DType::f16 ? 65504 : dtype == DType::bf16 ? 0x1.fep127 : dtype == DType::f32 ? 0x1.fffffep127 : 1e308;
}

// Operands: three shuffled runs over the interval.
std::vector<HostTensor> operands_over(DType dtype, double low, double high, std::int64_t n) {
  return {spread(dtype, {n}, low, high), spread(dtype, {n}, high, low), spread(dtype, {n}, (low + high) / 2, high)};
}

// Every case in one kernel; cases of one interval share their operands, so that the kernel has arguments enough.
void check_all(OpenClDevice& device, DType dtype, const std::vector<RealCase>& cases) {
  const std::int64_t n = 203;
  NamedLoop loop;
  core::LoopProgram& program = loop.bound.loop.program;
  loop.name = "every_case";
  std::vector<HostTensor> inputs;
  std::vector<std::pair<double, double>> intervals;
  std::vector<std::size_t> first_operand;
  for (const RealCase& item : cases) {
    const auto known = std::find(intervals.begin(), intervals.end(), std::pair(item.low, item.high));
    first_operand.push_back(3 * static_cast<std::size_t>(known - intervals.begin()));
    if (known != intervals.end()) continue;
    intervals.emplace_back(item.low, item.high);
    for (HostTensor& operand : operands_over(dtype, item.low, item.high, n)) inputs.push_back(std::move(operand));
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    core::LoopInstruction step{cases[i].op, dtype, {}};
    for (std::size_t k = 0; k < static_cast<std::size_t>(expression_of(cases[i].op)->operands); ++k) {
      step.operands[k] = static_cast<core::LoopValue>(first_operand[i] + k);
    }
    program.outputs.push_back(static_cast<core::LoopValue>(inputs.size() + i));
    program.instructions.push_back(step);
    loop.bound.outputs.push_back({dtype, core::View::dense({n})});
  }
  const std::vector<HostTensor> results = run_program(device, loop, inputs);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    double worst = 0;
    std::size_t where = 0;
    const HostTensor* const operand = &inputs[first_operand[i]];
    const auto expected = [&](std::size_t e) {
      return cases[i].expected(operand[0].values[e], operand[1].values[e], operand[2].values[e]);
    };
    for (std::size_t e = 0; e < static_cast<std::size_t>(n); ++e) {
      const Real exact = expected(e);
      const double found = results[i].values[e];
      if (std::fabs(exact) > largest(dtype) && std::fabs(found) >= largest(dtype)) continue;
      const double error =
          static_cast<double>(std::fabs(static_cast<Real>(found) - exact)) / tolerance(cases[i].op, dtype, exact);
      if (!(error <= worst)) worst = error, where = e;
    }
    INFO(core::definition(cases[i].op).name, " of ", std::string(tyto::name_of(dtype)), " at ",
         operand[0].values[where], ", ", operand[1].values[where], ": ", results[i].values[where], " instead of ",
         static_cast<double>(expected(where)));
    CHECK(worst <= 1);
  }
}

}  // namespace

TEST_CASE("real functions agree with the host's, for every floating type") {
  if (OpenClDevice* const device = gpu_style()) {
    for (const DType dtype : computed_types(*device, {DType::f32, DType::f64, DType::f16, DType::bf16})) {
      check_all(*device, dtype, unary_cases());
      check_all(*device, dtype, other_cases());
    }
  }
}

TEST_CASE("every operator that computes real numbers has a case for OpenCL") {
  // Exact, and held to their goldens on the device.
  std::set<OpId> known = {OpId::conj, OpId::frexp_mantissa, OpId::frexp_exponent, OpId::ldexp};
  for (const auto* cases : {&unary_cases(), &other_cases()}) {
    for (const RealCase& item : *cases) known.insert(item.op);
  }
  using core::Domain;
  for (const core::OpDef& def : core::op_table()) {
    const bool real =
        def.domain == Domain::floating || def.domain == Domain::numeric || def.domain == Domain::arithmetic;
    if (!def.is(core::Traits::elementwise) || !real) continue;
    CHECK_MESSAGE(known.contains(def.id), def.name, ": add a line to unary_cases or other_cases of this file");
  }
}

TEST_CASE("the logarithm of gamma is positive infinity at its poles and at both ends") {
  const double infinity = HUGE_VAL;
  const std::vector<double> ends = {0, -0.0, -1, -2, -8388608, infinity, -infinity};
  const auto n = static_cast<std::int64_t>(ends.size());
  if (OpenClDevice* const device = gpu_style()) {
    for (const DType dtype : computed_types(*device, {DType::f32, DType::f64, DType::f16, DType::bf16})) {
      const HostTensor input = HostTensor::of(dtype, {n}, ends);
      NamedLoop loop;
      loop.name = "poles";
      loop.bound.loop.program.instructions.push_back({OpId::lgamma, dtype, {0}});
      loop.bound.loop.program.outputs.push_back(1);
      loop.bound.outputs.push_back({dtype, core::View::dense({n})});
      CHECK(run_program(*device, loop, {&input, 1})[0].values == std::vector<double>(ends.size(), infinity));
    }
  }
}

TEST_CASE("real functions give at their ends what C gives: zeros, infinities, NaN, denormal and huge numbers") {
  const double infinity = HUGE_VAL;
  if (OpenClDevice* const device = gpu_style()) {
    for (const DType dtype : computed_types(*device, {DType::f32, DType::f64})) {
      const double tiny = dtype == DType::f32 ? 0x1p-140 : 0x1p-1060;
      const std::vector<double> ends = {0,     -0.0,           1,    -1, infinity, -infinity, std::nan(""), tiny,
                                        -tiny, largest(dtype), 1e-20};
      const auto n = static_cast<std::int64_t>(ends.size());
      const HostTensor input = HostTensor::of(dtype, {n}, ends);
      NamedLoop loop;
      core::LoopProgram& program = loop.bound.loop.program;
      loop.name = "ends";
      std::vector<const RealCase*> cases;
      for (const RealCase& item : unary_cases()) {
        // The references of these are only for the inside.
        if (item.op >= OpId::erfinv && item.op <= OpId::trigamma) continue;
        cases.push_back(&item);
        program.outputs.push_back(static_cast<core::LoopValue>(program.instructions.size() + 1));
        program.instructions.push_back({item.op, dtype, {0}});
        loop.bound.outputs.push_back({dtype, core::View::dense({n})});
      }
      const std::vector<HostTensor> results = run_program(*device, loop, {&input, 1});
      for (std::size_t i = 0; i < cases.size(); ++i) {
        for (std::size_t e = 0; e < ends.size(); ++e) {
          const double x = input.values[e];
          if (std::isnan(x) && cases[i]->op == OpId::relu) continue;  // the reference is no reference for NaN
          const double expected = rounded(dtype, static_cast<double>(cases[i]->expected(x, 0, 0)));
          const double found = results[i].values[e];
          INFO(core::definition(cases[i]->op).name, " of ", std::string(tyto::name_of(dtype)), " ", x, ": ", found,
               " instead of ", expected);
          if (std::isnan(expected)) {
            CHECK(std::isnan(found));
          } else if (std::isinf(expected) || expected == 0) {
            CHECK(found == expected);
          } else {
            CHECK(std::fabs(found - expected) <= std::fabs(expected) * (dtype == DType::f32 ? 1e-6 : 2e-15) +
                                                     (dtype == DType::f32 ? 0x1p-149 : 0x1p-1074));
          }
        }
      }
    }
  }
}

namespace {

/// Runs one operator on each of several pairs of integers.
std::vector<std::int64_t> of_pairs(OpenClDevice& device, OpId op, DType dtype, DType result,
                                   const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const Shape shape{static_cast<std::int64_t>(a.size())};
  std::vector<HostTensor> inputs = {HostTensor::of_integers(dtype, shape, a)};
  if (expression_of(op)->operands == 2) inputs.push_back(HostTensor::of_integers(dtype, shape, b));
  NamedLoop loop;
  core::LoopProgram& program = loop.bound.loop.program;
  loop.name = "integers";
  program.instructions.push_back({op, result, {0}});
  if (inputs.size() == 2) program.instructions[0].operands[1] = 1;
  program.outputs = {static_cast<core::LoopValue>(inputs.size())};
  loop.bound.outputs = {{result, core::View::dense(shape)}};
  return run_program(device, loop, inputs)[0].integers;
}

using Integers = std::vector<std::int64_t>;

struct IntegerCase {
  OpId op;
  Integers expected;  // for the operands below
};

}  // namespace

TEST_CASE("integer operators wrap, round down and never trap") {
  const std::int64_t low = INT32_MIN;
  const Integers a = {7, -7, 7, -7, 5, low, low, 0, 2147483647, 3};
  const Integers b = {2, 2, -2, -2, 0, -1, 1, 3, 2, 40};
  const std::vector<IntegerCase> cases = {
      {OpId::add, {9, -5, 5, -9, 5, 2147483647, low + 1, 3, low + 1, 43}},
      {OpId::subtract, {5, -9, 9, -5, 5, low + 1, 2147483647, -3, 2147483645, -37}},
      {OpId::multiply, {14, -14, -14, 14, 0, low, low, 0, -2, 120}},
      {OpId::floor_divide, {3, -4, -4, 3, 0, low, low, 0, 1073741823, 0}},
      {OpId::remainder, {1, 1, -1, -1, 0, 0, 0, 0, 1, 3}},
      {OpId::fmod, {1, -1, 1, -1, 0, 0, 0, 0, 1, 3}},
      {OpId::power, {49, 49, 0, 0, 1, 0, low, 0, 1, 689956897}},
      {OpId::maximum, {7, 2, 7, -2, 5, -1, 1, 3, 2147483647, 40}},
      {OpId::minimum, {2, -7, -2, -7, 0, low, low, 0, 2, 3}},
      {OpId::bitwise_and, {2, 0, 6, -8, 0, low, 0, 0, 2, 0}},
      {OpId::bitwise_or, {7, -5, -1, -1, 5, -1, low + 1, 3, 2147483647, 43}},
      {OpId::bitwise_xor, {5, -5, -7, 7, 5, 2147483647, low + 1, 3, 2147483645, 43}},
      {OpId::left_shift, {28, -28, 0, 0, 5, 0, 0, 0, -4, 0}},
      {OpId::right_shift, {1, -2, 0, -1, 5, -1, low / 2, 0, 536870911, 0}},
      {OpId::negate, {-7, 7, -7, 7, -5, low, low, 0, -2147483647, -3}},
      {OpId::abs, {7, 7, 7, 7, 5, low, low, 0, 2147483647, 3}},
      {OpId::sign, {1, -1, 1, -1, 1, -1, -1, 0, 1, 1}},
      {OpId::square, {49, 49, 49, 49, 25, 0, 0, 0, 1, 9}},
      {OpId::relu, {7, 0, 7, 0, 5, 0, 0, 0, 2147483647, 3}},
      {OpId::floor, a},
      {OpId::round, a},
      {OpId::bitwise_not, {-8, 6, -8, 6, -6, 2147483647, 2147483647, -1, low, -4}},
  };
  if (OpenClDevice* const device = gpu_style()) {
    NamedLoop loop;
    core::LoopProgram& program = loop.bound.loop.program;
    loop.name = "integers";
    const std::vector<HostTensor> inputs = {HostTensor::of_integers(DType::i32, {10}, a),
                                            HostTensor::of_integers(DType::i32, {10}, b)};
    for (const IntegerCase& item : cases) {
      program.outputs.push_back(static_cast<core::LoopValue>(inputs.size() + program.instructions.size()));
      program.instructions.push_back({item.op, DType::i32, {0}});
      if (expression_of(item.op)->operands == 2) program.instructions.back().operands[1] = 1;
      loop.bound.outputs.push_back({DType::i32, core::View::dense({10})});
    }
    const std::vector<HostTensor> results = run_program(*device, loop, inputs);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      CAPTURE(core::definition(cases[i].op).name);
      CHECK(results[i].integers == cases[i].expected);
    }
  }
}

TEST_CASE("narrow and wide integers keep to their width") {
  if (OpenClDevice* const device = gpu_style()) {
    CHECK(of_pairs(*device, OpId::add, DType::u8, DType::u8, {250, 3}, {10, 4}) == Integers{4, 7});
    CHECK(of_pairs(*device, OpId::subtract, DType::u8, DType::u8, {3, 9}, {4, 9}) == Integers{255, 0});
    CHECK(of_pairs(*device, OpId::negate, DType::i8, DType::i8, {-128, 5}, {}) == Integers{-128, -5});
    CHECK(of_pairs(*device, OpId::multiply, DType::i16, DType::i16, {300, -2}, {300, 9}) == Integers{24464, -18});
    CHECK(of_pairs(*device, OpId::multiply, DType::u16, DType::u16, {300, 65535}, {300, 65535}) == Integers{24464, 1});
    CHECK(of_pairs(*device, OpId::subtract, DType::u32, DType::u32, {3, 9}, {4, 9}) == Integers{4294967295, 0});
    CHECK(of_pairs(*device, OpId::right_shift, DType::u32, DType::u32, {4294967295, 8}, {31, 40}) == Integers{1, 0});
    CHECK(of_pairs(*device, OpId::left_shift, DType::u32, DType::u32, {3, 3}, {31, 33}) == Integers{2147483648, 0});
    CHECK(of_pairs(*device, OpId::floor_divide, DType::u32, DType::u32, {4000000000, 5}, {3, 0}) ==
          Integers{1333333333, 0});
    CHECK(of_pairs(*device, OpId::less, DType::u32, DType::boolean, {4000000000, 1}, {1, 4000000000}) ==
          Integers{0, 1});
    CHECK(of_pairs(*device, OpId::bitwise_not, DType::u32, DType::u32, {0, 5}, {}) == Integers{4294967295, 4294967290});
    // Elements of u64 as the signed numbers of their bits: -1 is 2^64 - 1.
    const DType u64 = DType::u64;
    CHECK(of_pairs(*device, OpId::floor_divide, u64, u64, {-1, -1, 7, -8}, {2, -1, 0, -3}) ==
          Integers{INT64_MAX, 1, 0, 0});
    CHECK(of_pairs(*device, OpId::remainder, u64, u64, {-1, 5, 7}, {10, -1, 0}) == Integers{5, 5, 0});
    CHECK(of_pairs(*device, OpId::right_shift, u64, u64, {-1, -1, 8}, {63, 64, -1}) == Integers{1, 0, 0});
    CHECK(of_pairs(*device, OpId::left_shift, u64, u64, {3, 3}, {63, 64}) == Integers{INT64_MIN, 0});
    CHECK(of_pairs(*device, OpId::less, u64, DType::boolean, {-1, 1}, {1, -1}) == Integers{0, 1});
    CHECK(of_pairs(*device, OpId::maximum, u64, u64, {-1, INT64_MIN}, {1, INT64_MAX}) == Integers{-1, INT64_MIN});
    CHECK(of_pairs(*device, OpId::power, u64, u64, {3, -1, 2}, {40, 2, 64}) == Integers{-6289078614652622815, 1, 0});
    CHECK(of_pairs(*device, OpId::multiply, u64, u64, {-1, INT64_MIN}, {-1, 2}) == Integers{1, 0});
    CHECK(of_pairs(*device, OpId::left_shift, DType::u8, DType::u8, {3, 3}, {7, 9}) == Integers{128, 0});
    CHECK(of_pairs(*device, OpId::floor_divide, DType::i64, DType::i64, {INT64_MIN, -7, 9}, {-1, 2, 0}) ==
          Integers{INT64_MIN, -4, 0});
    CHECK(of_pairs(*device, OpId::power, DType::i64, DType::i64, {3, -1, 2}, {39, -3, -1}) ==
          Integers{4052555153018976267, -1, 0});
    CHECK(of_pairs(*device, OpId::add, DType::boolean, DType::boolean, {1, 1, 0}, {1, 0, 0}) == Integers{1, 1, 0});
    CHECK(of_pairs(*device, OpId::bitwise_not, DType::boolean, DType::boolean, {1, 0}, {}) == Integers{0, 1});
    CHECK(of_pairs(*device, OpId::less, DType::i64, DType::boolean, {1, 2, 3}, {2, 2, 2}) == Integers{1, 0, 0});
    CHECK(of_pairs(*device, OpId::logical_xor, DType::boolean, DType::boolean, {0, 1, 1}, {1, 1, 0}) ==
          Integers{1, 0, 1});
    CHECK(of_pairs(*device, OpId::isfinite, DType::i32, DType::boolean, {4}, {}) == Integers{1});
  }
}

TEST_CASE("comparisons, tests and choices treat NaN, infinities and zeros as IEEE says") {
  const double nan = std::nan("");
  const double infinity = HUGE_VAL;
  const std::vector<double> a = {1, 2, nan, 1, infinity, -infinity, 0};
  const std::vector<double> b = {2, 2, 1, nan, infinity, 3, -0.0};
  struct Case {
    OpId op;
    Integers expected;
  };
  const std::vector<Case> truths = {
      {OpId::equal, {0, 1, 0, 0, 1, 0, 1}},    {OpId::not_equal, {1, 0, 1, 1, 0, 1, 0}},
      {OpId::less, {1, 0, 0, 0, 0, 1, 0}},     {OpId::less_equal, {1, 1, 0, 0, 1, 1, 1}},
      {OpId::greater, {0, 0, 0, 0, 0, 0, 0}},  {OpId::greater_equal, {0, 1, 0, 0, 1, 0, 1}},
      {OpId::isnan, {0, 0, 1, 0, 0, 0, 0}},    {OpId::isinf, {0, 0, 0, 0, 1, 1, 0}},
      {OpId::isfinite, {1, 1, 0, 1, 0, 0, 1}},
  };
  if (OpenClDevice* const device = gpu_style()) {
    for (const DType dtype : computed_types(*device, {DType::f32, DType::f64, DType::f16, DType::bf16})) {
      const std::vector<HostTensor> inputs = {HostTensor::of(dtype, {7}, a), HostTensor::of(dtype, {7}, b)};
      NamedLoop loop;
      core::LoopProgram& program = loop.bound.loop.program;
      loop.name = "truths";
      for (const Case& item : truths) {
        program.outputs.push_back(static_cast<core::LoopValue>(inputs.size() + program.instructions.size()));
        program.instructions.push_back({item.op, DType::boolean, {0}});
        if (expression_of(item.op)->operands == 2) program.instructions.back().operands[1] = 1;
        loop.bound.outputs.push_back({DType::boolean, core::View::dense({7})});
      }
      for (const OpId op : {OpId::maximum, OpId::fmin, OpId::relu, OpId::sign, OpId::sigmoid, OpId::softplus}) {
        program.outputs.push_back(static_cast<core::LoopValue>(inputs.size() + program.instructions.size()));
        program.instructions.push_back({op, dtype, {0}});
        if (expression_of(op)->operands == 2) program.instructions.back().operands[1] = 1;
        loop.bound.outputs.push_back({dtype, core::View::dense({7})});
      }
      const std::vector<HostTensor> results = run_program(*device, loop, inputs);
      for (std::size_t i = 0; i < truths.size(); ++i) {
        CAPTURE(core::definition(truths[i].op).name);
        CHECK(results[i].integers == truths[i].expected);
      }
      const auto real = [&](std::size_t which, std::size_t element) {
        return results[truths.size() + which].values[element];
      };
      CHECK(std::isnan(real(0, 2)));
      CHECK(std::isnan(real(0, 3)));
      CHECK(real(0, 4) == infinity);
      CHECK(real(1, 2) == 1);
      CHECK(real(1, 3) == 1);
      CHECK(std::isnan(real(2, 2)));
      CHECK(real(2, 5) == 0);
      CHECK(std::isnan(real(3, 2)));
      CHECK(real(3, 5) == -1);
      CHECK(std::isnan(real(4, 2)));
      CHECK(real(4, 4) == 1);
      CHECK(real(4, 5) == 0);
      CHECK(std::isnan(real(5, 2)));
      CHECK(real(5, 4) == infinity);
      CHECK(real(5, 5) == 0);
    }
  }
}

}  // namespace opencl_elementwise_test

#endif
