// SPDX-License-Identifier: MIT
// Compiled programs of integers compute what eager mode does; divisions by constants are exact.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <tyto/tyto.hpp>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "core/loop/operator_loop.hpp"
#include "tests/devices/cpu/numbers_of.hpp"

namespace {

using namespace tyto;
using core::OpId;
using testing::Numbers;
using testing::numbers_of;

/// The program that devices are given for a fused group with this one.
std::string as_bound(const core::LoopProgram& program, DType type) {
  const core::Operand operand{type, core::View::dense({3, 4})};
  const core::Attributes attributes = core::LoopAttributes{{3, 4}, {}, program};
  const core::Step step{OpId::fused, &attributes, {&operand, 1}, {&operand, 1}};
  return to_string(core::loop_of(step)->loop.program);
}

}  // namespace

TEST_CASE("quotients and remainders of powers of two are shifts and masks, of other numbers what they were") {
  const auto of_number = [](OpId op, int divisor, DType type) {
    core::LoopBuilder builder({&type, 1});
    const core::LoopValue value = builder.apply(op, type, {0, builder.constant(divisor, type)});
    const core::LoopValue used = builder.apply(OpId::square, type, {value});
    return as_bound(builder.finish({&used, 1}), type);
  };
  CHECK(of_number(OpId::floor_divide, 16, DType::i32) == "v0=right_shift(x0,4); v1=square(v0) -> v1");
  CHECK(of_number(OpId::remainder, 16, DType::i64) == "v0=bitwise_and(x0,15); v1=square(v0) -> v1");
  CHECK(of_number(OpId::floor_divide, 64, DType::u8) == "v0=right_shift(x0,6); v1=square(v0) -> v1");
  CHECK(of_number(OpId::floor_divide, -16, DType::i32) == "v0=floor_divide(x0,-16); v1=square(v0) -> v1");
  CHECK(of_number(OpId::remainder, 12, DType::i32) == "v0=remainder(x0,12); v1=square(v0) -> v1");
}

TEST_CASE("quotients and remainders of numbers are rounded down") {
  const std::int64_t lowest = INT32_MIN, highest = INT32_MAX;
  for (const DType type : {DType::i32, DType::i64, DType::i16, DType::i8}) {
    Numbers numbers = {lowest, lowest + 1, highest, highest - 1};
    for (std::int64_t each = -40; each <= 40; ++each) numbers.push_back(each);
    for (const std::int64_t each : {1000003, 65536, 46341, 715827883}) {
      for (const std::int64_t near : {each - 1, each, each + 1}) numbers.insert(numbers.end(), {near, -near});
    }
    const std::int64_t most = type == DType::i64 ? INT64_MAX : (std::int64_t{1} << (8 * size_of(type) - 1)) - 1;
    std::erase_if(numbers, [&](std::int64_t each) { return each < -most - 1 || each > most; });
    for (const std::int64_t divisor : numbers) {
      if (divisor == 0) continue;
      Numbers quotients, remainders;
      for (const std::int64_t each : numbers) {
        const bool overflows = type == DType::i32 && each == lowest && divisor == -1;
        const std::int64_t rest = (each % divisor + divisor) % divisor;
        remainders.push_back(rest);
        quotients.push_back(overflows ? lowest : (each - rest) / divisor);
      }
      // With something behind them, they are no results.
      auto compiled = compile([&](Tensor<Lazy> x) {
        const Scalar number(divisor);
        return std::pair(bitwise_xor(floor_divide(x, number), 1), bitwise_xor(remainder(x, number), 1));
      });
      const auto x = Tensor<Lazy>::from(numbers, {static_cast<std::int64_t>(numbers.size())}).astype(type);
      const auto [found_quotients, found_remainders] = compiled(x);
      CAPTURE(divisor);
      const auto turned = [](Numbers list) {
        for (std::int64_t& each : list) each ^= 1;
        return list;
      };
      if (type == DType::i32 || type == DType::i64) CHECK(numbers_of(found_quotients) == turned(quotients));
      CHECK(numbers_of(found_remainders) == turned(remainders));
    }
  }
}

namespace {

/// Checks what a compiled function gives of the results whose bits are set, against those of eager mode.
template <class F>
void check_chosen(const Tensor<Lazy>& x, const F& results, const std::vector<Tensor<Eager>>& expected,
                  unsigned chosen) {
  using T = Tensor<Lazy>;
  auto compiled = compile([&](T given) {
    std::vector<T> some;
    const auto all = results(given);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((chosen >> i & 1) != 0) some.push_back(all[i]);
    }
    return some;
  });
  const std::vector<T> found = compiled(x);
  for (std::size_t i = 0, next = 0; i < expected.size(); ++i) {
    if ((chosen >> i & 1) == 0) continue;
    CAPTURE(chosen);
    CAPTURE(i);
    CHECK(numbers_of(found[next++]) == numbers_of(expected[i]));
  }
}

}  // namespace

TEST_CASE("results of one group stay apart where their numbers are the same") {
  const auto values = []<class M>(M) {
    return ((Tensor<M>::arange(6400) * 37) % 251).astype(DType::i32).reshape({64, 100});
  };
  const auto results = [](const auto& x) {
    const auto y = remainder(x, 10), m = max(y, {-1}, true), p = y - m;
    return std::vector{p, clip(p, -9, 9), m, abs(m), abs(y)};
  };
  const auto expected = results(values(Eager()));
  for (unsigned chosen = 1; chosen < 32; ++chosen) {
    check_chosen(values(Lazy()), results, expected, chosen);
  }
}

TEST_CASE("results that are numbers, or other results, are those of eager mode") {
  for (const DType type : {DType::i32, DType::i64, DType::u8}) {
    const auto values = [&]<class M>(M) { return (Tensor<M>::arange(6400) % 251).astype(type).reshape({64, 100}); };
    const auto results = [](const auto& x) {
      const auto y = remainder(x, 10);
      return std::vector{x + 45 - x,
                         clip(y, 0, 9),
                         y,
                         y + x - y,
                         abs(sign(bitwise_or(x, 2))),
                         3 - (3 - y),
                         equal(bitwise_or(x, 1), 4),
                         less_equal(minimum(x, y), y)};
    };
    const auto expected = results(values(Eager()));
    for (unsigned chosen = 1; chosen < 256; chosen += 1 + chosen / 16)
      check_chosen(values(Lazy()), results, expected, chosen);
  }
}

TEST_CASE("sums of integers are those of eager mode, alone and beside other results") {
  for (const DType type : {DType::i32, DType::i64, DType::u8, DType::i8}) {
    const auto values = [&]<class M>(M) {
      return ((Tensor<M>::arange(6400) * 37) % 251).astype(type).reshape({64, 100});
    };
    const auto results = [](const auto& x) {
      const auto one = abs(sign(bitwise_or(x, 2))), many = one * 100;
      const auto total = sum(one, {-1}, true);
      return std::vector{total,
                         x.astype(total.dtype()) - total,
                         sum(many, {-1}),
                         sum(many, {0}, true),
                         one.astype(total.dtype()) - total,
                         sum(not_equal(one, 0), {-1}),
                         max(many, {-1}, true),
                         sum(many)};
    };
    const auto expected = results(values(Eager()));
    for (unsigned chosen = 1; chosen < 256; chosen = chosen < 8 ? chosen + 1 : chosen + 7) {
      check_chosen(values(Lazy()), results, expected, chosen);
    }
  }
}

namespace {

/// A program of integers with many masks and limits, the same in every mode.
template <class M>
Tensor<M> chain(const Tensor<M>& x, const Tensor<M>& y, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor<M>> values = {x, y};
  const auto pick = [&] { return values[random() % values.size()]; };
  const auto number = [&] { return static_cast<int>(random() % 128) - (is_unsigned(x.dtype()) ? 0 : 64); };
  for (int steps = 4 + static_cast<int>(random() % 16); steps > 0; --steps) {
    const Tensor<M> a = pick(), b = pick();
    const int n = number(), m = number();
    switch (random() % 28) {
      case 0: values.push_back(bitwise_and(a, n & 63)); break;
      case 1: values.push_back(bitwise_or(a, n & 63)); break;
      case 2: values.push_back(bitwise_xor(a, b)); break;
      case 3: values.push_back(clip(a, std::min(n, m), std::max(n, m))); break;
      case 4: values.push_back(maximum(a, n)); break;
      case 5: values.push_back(minimum(a, n)); break;
      case 6: values.push_back(abs(a)); break;
      case 7: values.push_back(sign(a)); break;
      case 8: values.push_back(remainder(a, (n & 31) + 1)); break;
      case 9: values.push_back(floor_divide(a, (n & 7) + 1)); break;
      case 10: values.push_back(left_shift(a, n & 3)); break;
      case 11: values.push_back(right_shift(a, n & 7)); break;
      case 12: values.push_back(where(less(a, n), a, b)); break;
      case 13: values.push_back(where(equal(bitwise_or(a, 56), 35), b, a)); break;
      case 14: values.push_back(a * n); break;
      case 15: values.push_back(a + b); break;
      case 16: values.push_back(n - a); break;
      case 17: values.push_back(maximum(a, b)); break;
      case 18: values.push_back(square(a)); break;
      case 19: values.push_back(a - b + (b - n)); break;
      case 20: values.push_back(left_shift(a, n & 7) - a * m); break;
      case 21: values.push_back(negate(a - n) - (m - a)); break;
      case 22: values.push_back(fma(a, n, b * m) - b); break;
      case 23: values.push_back(where(less_equal(minimum(a, b), a), bitwise_xor(a, n), b)); break;
      case 24: {
        const Tensor<M> above = greater(a, n);
        values.push_back(where(above, square(where(above, b, a) + m) - m, where(above, a, b)));
        break;
      }
      case 25: values.push_back(where(not_equal(a, n), maximum(a, m), abs(a))); break;
      case 26: values.push_back(where(logical_or(less(a, n), greater(a, m)), b, clip(a, n, m))); break;
      default: values.push_back(where(logical_and(greater_equal(a, n), less(b, m)), a, n)); break;
    }
  }
  if (random() % 3 != 0) return values.back();
  const Tensor<M> total = sum(values.back(), {-1}, true);
  return random() % 2 == 0 ? total : pick().astype(total.dtype()) - total;
}

}  // namespace

TEST_CASE("compiled programs of integers compute what eager mode does") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const DType type = std::vector{DType::i32, DType::i64, DType::i16, DType::u8, DType::u32, DType::i8}[seed % 6];
    const auto same = [&]<class M>(M) {
      const auto values = [&](std::int64_t factor) {
        return ((Tensor<M>::arange(600) * factor) % 251 - 125).astype(type).reshape({20, 30});
      };
      const Tensor<M> x = values(37), y = values(91);
      if constexpr (std::is_same_v<M, Eager>) return numbers_of(chain(x, y, seed));
      else return numbers_of(compile([&](Tensor<M> a, Tensor<M> b) { return chain(a, b, seed); })(x, y));
    };
    CAPTURE(seed);
    CHECK(same(Lazy()) == same(Eager()));
  }
}
