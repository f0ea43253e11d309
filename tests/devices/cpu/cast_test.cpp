// SPDX-License-Identifier: MIT
// Conversions between every two element types: truncation, saturation, wrap-around, rounding to even.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "core/graph/op_ids.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace cast_test {

namespace {

using namespace tyto;
using namespace tyto::cpu::testing;

struct IntegerRange {
  long double low, high;
};

IntegerRange range_of(DType type) {
  const long double top = std::ldexp(1.0L, static_cast<int>(size_of(type)) * 8 - 1);
  if (is_unsigned(type)) return {0, 2 * top - 1};
  return {-top, top - 1};
}

/// The nearest number of so many fraction bits, halves to even, and infinity beyond the largest.
long double rounded(long double x, int fraction, int lowest_exponent, long double largest) {
  if (x == 0 || std::isnan(x) || std::isinf(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const long double unit = std::ldexp(1.0L, std::max(exponent - 1, lowest_exponent) - fraction);
  const long double steps = std::floor(std::abs(x) / unit), rest = std::abs(x) / unit - steps;
  const bool up = rest > 0.5L || (rest == 0.5L && std::fmod(steps, 2.0L) != 0);
  const long double magnitude = (steps + (up ? 1 : 0)) * unit;
  return std::copysign(magnitude > largest ? std::numeric_limits<long double>::infinity() : magnitude, x);
}

long double expected(long double x, DType to, bool from_floating) {
  switch (to) {
    case DType::boolean: return x != 0;
    case DType::f16: return rounded(x, 10, -14, 65504.0L);
    case DType::bf16: return rounded(x, 7, -126, 0x1.fep127L);
    case DType::f32: return rounded(x, 23, -126, 0x1.fffffep127L);
    case DType::f64: return rounded(x, 52, -1022, 0x1.fffffffffffffp1023L);
    default: break;
  }
  const IntegerRange range = range_of(to);
  if (from_floating) {
    if (std::isnan(x)) return 0;
    return std::trunc(std::fmin(std::fmax(x, range.low), range.high));
  }
  const long double span = range.high - range.low + 1;
  const long double wrapped = x - span * std::floor((x - range.low) / span);
  return wrapped;
}

std::vector<long double> numbers_for(DType type) {
  if (type == DType::boolean) return {0, 1, 1, 0, 1};
  Draw draw(static_cast<std::uint64_t>(type) + 3);
  std::vector<long double> list;
  if (!is_floating(type)) {
    const IntegerRange range = range_of(type);
    for (const long double x : {range.low, range.low + 1, range.high, range.high - 1, 0.0L, 1.0L, 100.0L})
      list.push_back(x);
    for (int i = 0; i < 600; ++i) {
      StoredTensor one = StoredTensor::dense(DType::i64, {1});
      const int shift = static_cast<int>(draw.below(63));
      one.put(0, static_cast<long double>(static_cast<std::int64_t>(draw.bits()) >> shift));
      list.push_back(std::fmax(range.low, std::fmin(range.high, one.get(0))));
    }
    return list;
  }
  const long double infinity = std::numeric_limits<long double>::infinity(), nan = std::nanl("");
  for (const long double x : {0.0L,
                              -0.0L,
                              0.5L,
                              -0.5L,
                              1.5L,
                              127.5L,
                              -128.9L,
                              255.9L,
                              256.0L,
                              32767.9L,
                              -32769.0L,
                              65504.0L,
                              65535.9L,
                              65519.99L,
                              65520.0L,
                              2147483647.5L,
                              2147483648.0L,
                              4294967040.0L,
                              4294967295.5L,
                              4294967296.0L,
                              -2147483648.5L,
                              -2147483649.0L,
                              9.3e18L,
                              -9.3e18L,
                              0x1p63L,
                              -0x1p63L,
                              1e300L,
                              -1e300L,
                              0x1p-25L,
                              0x1.8p-25L,
                              0x1.0000002p-25L,
                              0x1p-149L,
                              0x1p-133L,
                              1e-310L,
                              infinity,
                              -infinity,
                              nan,
                              1 + 0x1p-11L,
                              1 + 0x1p-11L + 0x1p-40L,
                              1 + 0x1.8p-10L,
                              1 + 0x1p-8L + 0x1p-50L,
                              1 + 0x1p-24L + 0x1p-52L}) {
    list.push_back(x);
  }
  for (int i = 0; i < 600; ++i) {
    list.push_back(std::ldexp(static_cast<long double>(draw.value<double>()), static_cast<int>(draw.below(80)) - 30));
  }
  return list;
}

TEST_CASE("casts truncate and saturate to integers, wrap among integers, and round to even in floating types") {
  for (const DType from : all_types) {
    const StoredTensor input = StoredTensor::of(from, numbers_for(from));
    for (const DType to : all_types) {
      for (const cpu::InstructionSet set : all_sets()) {
        StoredTensor result = StoredTensor::dense(to, input.view.shape);
        run_elementwise(core::OpId::cast, {&input}, result, {.instructions = set});
        for (std::int64_t i = 0; i < input.view.count(); ++i) {
          const long double want = expected(input.get(i), to, is_floating(from)), got = result.get(i);
          if (got == want || (std::isnan(got) && std::isnan(want))) continue;
          FAIL_CHECK(std::string(name_of(from)), " ", static_cast<double>(input.get(i)), " as ",
                     std::string(name_of(to)), " on ", std::string(cpu::name_of(set)), " gave ",
                     static_cast<double>(got), ", expected ", static_cast<double>(want));
        }
      }
    }
  }
}

TEST_CASE("a cast keeps the sign of zero and the sign of what vanishes") {
  const StoredTensor input = StoredTensor::of(DType::f64, {-0.0L, -1e-300L, 1e-300L});
  for (const DType to : {DType::f16, DType::bf16, DType::f32}) {
    StoredTensor result = StoredTensor::dense(to, {3});
    run_elementwise(core::OpId::cast, {&input}, result, {});
    CHECK(std::signbit(result.get(0)));
    CHECK(std::signbit(result.get(1)));
    CHECK_FALSE(std::signbit(result.get(2)));
  }
}

}  // namespace

}  // namespace cast_test
