// Loops without what is known of their integers: how they are written, and that they compute what eager mode does.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <tyto/tyto.hpp>

#include "core/known_integer.hpp"
#include "core/known_values.hpp"
#include "core/loop_builder.hpp"
#include "core/op_ids.hpp"
#include "tests/devices/cpu/numbers_of.hpp"

namespace {

using namespace tyto;
using core::KnownInteger;
using core::OpId;
using testing::Numbers;
using testing::numbers_of;

std::string without_known(const core::LoopProgram& program, std::vector<DType> inputs, bool of_rows) {
  core::BoundLoop bound;
  bound.loop = {{3, 4}, {}, program};
  if (of_rows) bound.loop.axes = {1};
  for (const DType type : inputs) {
    bound.inputs.push_back({type, core::View::dense({3, 4})});
    bound.given.push_back({3, 4});
  }
  core::drop_known_values(bound);
  return to_string(bound.loop.program);
}

}  // namespace

TEST_CASE("instructions go whose result is one number, or that of an operand") {
  const DType type = DType::i32;
  core::LoopBuilder masks({&type, 1});
  const core::LoopValue number =
      masks.apply(OpId::bitwise_or, type,
                  {masks.apply(OpId::bitwise_and, type, {0, masks.constant(16, type)}), masks.constant(52, type)});
  const core::LoopValue sum = masks.apply(OpId::add, type, {0, number});
  CHECK(without_known(masks.finish({&sum, 1}), {type}, false) == "v0=add(x0,52) -> v0");

  core::LoopBuilder limits({&type, 1});
  const core::LoopValue within = limits.apply(OpId::remainder, type, {0, limits.constant(10, type)});
  const core::LoopValue limited =
      limits.apply(OpId::clip, type, {within, limits.constant(-1, type), limits.constant(9, type)});
  const core::LoopValue absolute = limits.apply(OpId::abs, type, {limited});
  CHECK(without_known(limits.finish({&absolute, 1}), {type}, false) ==
        "v0=remainder(x0,10); v1=bitwise_or(v0,v0) -> v1");

  core::LoopBuilder choice({&type, 1});
  const core::LoopValue odd = choice.apply(OpId::bitwise_or, type, {0, choice.constant(1, type)});
  const core::LoopValue never = choice.apply(OpId::equal, DType::boolean, {odd, choice.constant(4, type)});
  const core::LoopValue chosen = choice.apply(OpId::where, type, {never, odd, choice.apply(OpId::negate, type, {0})});
  const core::LoopValue squared = choice.apply(OpId::square, type, {chosen});
  CHECK(without_known(choice.finish({&squared, 1}), {type}, false) == "v0=negate(x0); v1=square(v0) -> v1");
}

TEST_CASE("sums and products by numbers that come to less are less") {
  const DType type = DType::i32, types[] = {type, type};
  const auto square_of = [&](const auto& write) {
    core::LoopBuilder builder(types);
    const core::LoopValue value = builder.apply(OpId::square, type, {write(builder)});
    return without_known(builder.finish({&value, 1}), {type, type}, false);
  };
  const auto two = [&](core::LoopBuilder& builder, OpId op, core::LoopValue a, core::LoopValue b) {
    return builder.apply(op, type, {a, b});
  };
  CHECK(square_of([&](core::LoopBuilder& b) { return two(b, OpId::add, two(b, OpId::subtract, 0, 1), 1); }) ==
        "v0=square(x0) -> v0");
  struct Case {
    std::function<core::LoopValue(core::LoopBuilder&)> write;
    const char* expected;
  };
  using B = core::LoopBuilder;
  using enum OpId;
  const auto number = [&](B& b, int value) { return b.constant(value, type); };
  const auto opposite = [&](B& b, core::LoopValue value) { return b.apply(negate, type, {value}); };
  const Case cases[] = {
      {[&](B& b) { return two(b, add, two(b, subtract, 0, 1), 1); }, "v0=square(x0) -> v0"},
      {[&](B& b) { return two(b, add, 1, two(b, subtract, 0, 1)); }, "v0=square(x0) -> v0"},
      {[&](B& b) { return two(b, subtract, two(b, add, 0, 1), 0); }, "v0=square(x1) -> v0"},
      {[&](B& b) { return two(b, subtract, 0, two(b, subtract, 0, 1)); }, "v0=square(x1) -> v0"},
      {[&](B& b) { return two(b, subtract, two(b, subtract, 0, 1), 0); }, "v0=subtract(0,x1); v1=square(v0) -> v1"},
      {[&](B& b) { return two(b, subtract, 0, two(b, add, 1, 0)); }, "v0=subtract(0,x1); v1=square(v0) -> v1"},
      {[&](B& b) { return opposite(b, opposite(b, 1)); }, "v0=square(x1) -> v0"},
      {[&](B& b) { return two(b, add, opposite(b, 1), 0); }, "v0=subtract(x0,x1); v1=square(v0) -> v1"},
      {[&](B& b) { return two(b, subtract, 0, opposite(b, 1)); }, "v0=add(x0,x1); v1=square(v0) -> v1"},
      {[&](B& b) { return two(b, subtract, number(b, 9), two(b, subtract, 0, number(b, 9))); },
       "v0=subtract(18,x0); v1=square(v0) -> v1"},
      {[&](B& b) { return two(b, add, two(b, add, opposite(b, 0), number(b, 56)), 0); }, "v0=maximum(3136,3136) -> v0"},
      {[&](B& b) { return two(b, subtract, two(b, multiply, 0, number(b, 9)), 0); },
       "v0=left_shift(x0,3); v1=square(v0) -> v1"},
      {[&](B& b) { return two(b, multiply, two(b, multiply, 0, number(b, 12)), number(b, 5)); },
       "v0=multiply(x0,60); v1=square(v0) -> v1"},
      {[&](B& b) { return two(b, multiply, two(b, left_shift, 0, number(b, 2)), number(b, 5)); },
       "v0=multiply(x0,20); v1=square(v0) -> v1"},
      {[&](B& b) { return two(b, multiply, two(b, multiply, 0, number(b, 65537)), number(b, 65535)); },
       "v0=subtract(0,x0); v1=square(v0) -> v1"},  // 2^32 - 1
      {[&](B& b) {
         return b.apply(fma, type, {0, number(b, 5), two(b, multiply, 0, number(b, -5))});
       },
       "v0=maximum(0,0) -> v0"},
      {[&](B& b) { return two(b, add, two(b, bitwise_xor, 0, 0), 1); }, "v0=square(x1) -> v0"},
      {[&](B& b) { return two(b, bitwise_xor, two(b, maximum, 0, 1), two(b, maximum, 1, 0)); },
       "v0=maximum(0,0) -> v0"},
      // A product takes longer than a shift and a sum.
      {[&](B& b) { return two(b, add, two(b, left_shift, 0, number(b, 3)), 0); },
       "v0=left_shift(x0,3); v1=add(v0,x0); v2=square(v1) -> v2"},
      // Of three terms nothing is less.
      {[&](B& b) { return two(b, add, two(b, subtract, 0, 1), number(b, 3)); },
       "v0=subtract(x0,x1); v1=add(v0,3); v2=square(v1) -> v2"},
  };
  for (const auto& [write, expected] : cases) CHECK(square_of(write) == expected);
}

TEST_CASE("what a condition says of its operands is known where it holds") {
  const DType type = DType::i32, types[] = {type, type};
  core::LoopBuilder above(types);
  const core::LoopValue is_above = above.apply(OpId::greater, DType::boolean, {0, above.constant(13, type)});
  const core::LoopValue chosen = above.apply(OpId::where, type, {is_above, 0, above.constant(49, type)});
  const core::LoopValue size = above.apply(OpId::abs, type, {above.apply(OpId::maximum, type, {chosen, 0})});
  CHECK(without_known(above.finish({&size, 1}), {type, type}, false) ==
        "v0=greater(x0,13); v1=where(v0,x0,49); v2=maximum(v1,x0); v3=bitwise_or(v2,v2) -> v3");
  const core::LoopValue limited = above.apply(OpId::maximum, type, {chosen, above.constant(14, type)});
  const core::LoopValue next = above.apply(OpId::square, type, {limited});
  CHECK(without_known(above.finish({&next, 1}), {type, type}, false) ==
        "v0=greater(x0,13); v1=where(v0,x0,49); v2=square(v1) -> v2");

  core::LoopBuilder ordered(types);
  const core::LoopValue smaller = ordered.apply(OpId::minimum, type, {0, 1});
  const core::LoopValue always = ordered.apply(OpId::less_equal, DType::boolean, {smaller, 0});
  const core::LoopValue it = ordered.apply(OpId::where, type, {always, 1, 0});
  const core::LoopValue result = ordered.apply(OpId::square, type, {it});
  CHECK(without_known(ordered.finish({&result, 1}), {type, type}, false) == "v0=square(x1) -> v0");
}

TEST_CASE("of conditions that are made of one another no more than a few are looked into") {
  auto compiled = compile([](Tensor<Lazy> x, Tensor<Lazy> y) {
    Tensor<Lazy> now = less(x, y), before = greater(y, 5);
    for (int i = 0; i < 60; ++i) {
      const Tensor<Lazy> next = logical_and(now, before);
      before = now;
      now = next;
    }
    return where(now, x, y) + 1;
  });
  const auto x = Tensor<Lazy>::arange(40).astype(DType::i32), y = 3 * x % 17;
  const Numbers given = numbers_of(y), found = numbers_of(compiled(x, y));
  for (std::size_t i = 0; i < 40; ++i) {
    const auto here = static_cast<std::int64_t>(i);
    CHECK(found[i] == (here < given[i] && given[i] > 5 ? here : given[i]) + 1);
  }
}

TEST_CASE("a choice within a branch of another by the same condition is made") {
  const DType type = DType::i32, types[] = {type, type};
  for (const bool read_elsewhere : {false, true}) {
    core::LoopBuilder builder(types);
    const core::LoopValue less = builder.apply(OpId::less, DType::boolean, {0, 1});
    const core::LoopValue quotient = builder.apply(OpId::floor_divide, type, {0, 1});
    const core::LoopValue inner = builder.apply(OpId::where, type, {less, 0, quotient});
    const core::LoopValue square = builder.apply(OpId::square, type, {inner});
    const core::LoopValue outer = builder.apply(OpId::where, type, {less, square, 1});
    const core::LoopValue result =
        builder.apply(OpId::bitwise_xor, type, {outer, read_elsewhere ? inner : core::LoopValue{0}});
    CHECK(without_known(builder.finish({&result, 1}), {type, type}, false) ==
          (read_elsewhere ? "v0=less(x0,x1); v1=floor_divide(x0,x1); v2=where(v0,x0,v1); v3=square(v2); "
                            "v4=where(v0,v3,x1); v5=bitwise_xor(v4,v2) -> v5"
                          : "v0=less(x0,x1); v1=square(x0); v2=where(v0,v1,x1); v3=bitwise_xor(v2,x0) -> v3"));
  }
}

TEST_CASE("quotients and remainders of powers of two are shifts and masks, of other numbers what they were") {
  const auto of_number = [](OpId op, int divisor, DType type) {
    core::LoopBuilder builder({&type, 1});
    const core::LoopValue value = builder.apply(op, type, {0, builder.constant(divisor, type)});
    const core::LoopValue used = builder.apply(OpId::square, type, {value});
    return without_known(builder.finish({&used, 1}), {type}, false);
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
    const KnownInteger any = *core::any_of(type);
    std::erase_if(numbers, [&](std::int64_t each) { return each < any.low || each > any.high; });
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

TEST_CASE("a sum of a number that is known is a number, and as a result one a row") {
  const DType type = DType::i32;
  core::LoopBuilder builder({&type, 1});
  const core::LoopValue sign =
      builder.apply(OpId::sign, type, {builder.apply(OpId::bitwise_or, type, {0, builder.constant(2, type)})});
  const core::LoopValue one = builder.apply(OpId::abs, type, {sign});
  const core::LoopValue sum = builder.apply(OpId::sum, type, {one});
  CHECK(without_known(builder.finish({&sum, 1}), {type}, true) == "v0=maximum(4,4) -> v0");

  core::LoopBuilder inside({&type, 1});
  const core::LoopValue small =
      inside.apply(OpId::bitwise_and, type, {inside.apply(OpId::abs, type, {0}), inside.constant(0, type)});
  const core::LoopValue total =
      inside.apply(OpId::sum, type, {inside.apply(OpId::add, type, {small, inside.constant(3, type)})});
  const core::LoopValue most = inside.apply(OpId::max, type, {0});
  const core::LoopValue all = inside.apply(OpId::add, type, {inside.apply(OpId::subtract, type, {0, most}), total});
  CHECK(without_known(inside.finish({&all, 1}), {type}, true) == "v0=max(x0); v1=subtract(x0,v0); v2=add(v1,12) -> v2");
}

TEST_CASE("what is whole stays so where a sum turns out to be a number") {
  const DType type = DType::i32;
  core::LoopBuilder builder({&type, 1});
  const core::LoopValue one = builder.apply(
      OpId::abs, type,
      {builder.apply(OpId::sign, type, {builder.apply(OpId::bitwise_or, type, {0, builder.constant(2, type)})})});
  const core::LoopValue shares = builder.apply(OpId::subtract, type, {one, builder.apply(OpId::sum, type, {one})});
  CHECK(without_known(builder.finish({&shares, 1}), {type}, true) ==
        "v0=bitwise_or(x0,2); v1=sign(v0); v2=abs(v1); v3=subtract(v2,4) -> v3");
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

TEST_CASE("a result that is always another one stays an instruction of its own") {
  const DType type = DType::i32;
  core::LoopBuilder builder({&type, 1});
  const core::LoopValue digit = builder.apply(OpId::remainder, type, {0, builder.constant(10, type)});
  const core::LoopValue apart = builder.apply(OpId::subtract, type, {digit, builder.apply(OpId::max, type, {digit})});
  const core::LoopValue limited =
      builder.apply(OpId::clip, type, {apart, builder.constant(-9, type), builder.constant(9, type)});
  const core::LoopValue results[] = {apart, limited};
  CHECK(without_known(builder.finish(results), {type}, true) ==
        "v0=remainder(x0,10); v1=max(v0); v2=subtract(v0,v1); v3=bitwise_or(v2,v2) -> v2,v3");
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

TEST_CASE("sums of known integers are those of eager mode, alone and beside other results") {
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

TEST_CASE("compiled programs with known integers compute what eager mode does") {
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
