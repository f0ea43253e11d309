// SPDX-License-Identifier: MIT
// Simplifications of the JIT's code builder, and errors of machine code.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/target.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace tyto::cpu::testing::jit_code {

using jit::Lane;
using jit::Op;
using jit::Value;

namespace {

Value whole(jit::CodeBuilder& builder, std::int32_t number) {
  return builder.constant(Lane::i32, static_cast<std::uint32_t>(number));
}

std::atomic<int> calls;
void count_calls(void* out, const void* a, const void*, const void*, std::size_t n) {
  ++calls;
  for (std::size_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = -static_cast<const float*>(a)[i];
}

}  // namespace

TEST_CASE("x ^ x and x - x fold to zero for integers, not for floating-point numbers") {
  jit::CodeBuilder builder(true);
  const Value x = builder.load(0, Lane::i32, false), z = builder.load(1, Lane::f32, false);
  CHECK(builder.apply(Op::bit_xor, Lane::i32, x, x) == whole(builder, 0));
  CHECK(builder.code()[builder.apply(Op::subtract, Lane::f32, z, z)].op == Op::subtract);
}

TEST_CASE("shifts by lanes that all hold one number shift by that number") {
  jit::CodeBuilder builder(true);
  const Value x = builder.load(0, Lane::i32, false), y = builder.load(1, Lane::i64, false);
  const auto shifted = [&](Op op, std::int32_t count) {
    return builder.code()[builder.apply(op, Lane::i32, x, whole(builder, count))];
  };
  CHECK(shifted(Op::shift_left_by, 5).op == Op::shift_left);
  CHECK(shifted(Op::shift_left_by, 5).immediate == 5);
  CHECK(shifted(Op::shift_right_signed_by, 31).immediate == 31);
  // Counts beyond the width, negative ones too, leave nothing, or the sign.
  for (const std::int32_t count : {32, 100, -1}) {
    CHECK(shifted(Op::shift_left_by, count).op == Op::constant);
    CHECK(shifted(Op::shift_right_signed_by, count).immediate == 31);
  }
  CHECK(builder.apply(Op::shift_right_signed_by, Lane::i32, x, whole(builder, 0)) == x);
  const Value wide = builder.constant(Lane::i64, 3);
  CHECK(builder.code()[builder.apply(Op::shift_left_by, Lane::i64, y, wide)].op == Op::shift_left);
  CHECK(builder.code()[builder.apply(Op::shift_right_signed_by, Lane::i64, y, wide)].op == Op::shift_right_signed_by);
}

TEST_CASE("sizes of integers are one instruction") {
  jit::CodeBuilder builder(true);
  const Value x = builder.load(0, Lane::i32, false), zero = whole(builder, 0);
  const Value negative = builder.apply(Op::subtract, Lane::i32, zero, x);
  const Value below = builder.apply(Op::less, Lane::mask32, x, zero);
  const Value size = builder.apply(Op::select, Lane::i32, below, negative, x);
  CHECK(builder.code()[size].op == Op::absolute);
  CHECK(builder.code()[size].operands[0] == x);
  CHECK(builder.code()[builder.apply(Op::select, Lane::i32, below, x, negative)].op == Op::select);
}

TEST_CASE("choices between the operands of their comparison are extremes, in the order that NaN and zeros ask for") {
  jit::CodeBuilder builder(true);
  for (const Lane lane : {Lane::f32, Lane::f64}) {
    const Value x = builder.load(0, lane, false), y = builder.load(1, lane, false);
    const Value less = builder.apply(Op::less, lane == Lane::f32 ? Lane::mask32 : Lane::mask64, x, y);
    const Value smaller = builder.apply(Op::select, lane, less, x, y);
    const Value larger = builder.apply(Op::select, lane, less, y, x);
    // x < y ? x : y is y where either is NaN, and x < y ? y : x is x: the second operand of the extreme.
    CHECK(builder.code()[smaller].op == Op::minimum);
    CHECK(builder.code()[smaller].operands == std::array<std::int16_t, 3>{x, y, jit::no_value});
    CHECK(builder.code()[larger].op == Op::maximum);
    CHECK(builder.code()[larger].operands == std::array<std::int16_t, 3>{y, x, jit::no_value});
    CHECK(builder.code()[builder.apply(Op::select, lane, less, x, x)].op == Op::load);
  }
}

TEST_CASE("a power of two scales by one instruction where there is one") {
  for (const Lane lane : {Lane::f32, Lane::f64}) {
    jit::CodeBuilder with(true), without(false);
    const auto scaled = [lane](jit::CodeBuilder& builder) {
      const Value x = builder.load(0, lane, false), exponent = builder.load(1, lane, false);
      builder.store(builder.apply(Op::scale, lane, x, exponent), 0);
      return builder.take();
    };
    CHECK(scaled(with).instructions.back().op == Op::scale);
    const jit::Code two = scaled(without);
    CHECK(std::ranges::count(two.instructions, Op::scale, &jit::Instruction::op) == 0);
    CHECK(std::ranges::count(two.instructions, Op::multiply, &jit::Instruction::op) == 2);
  }
}

TEST_CASE("lanes beyond the end of a row call no loop, whatever is in them") {
  if (!jit::is_available()) return;
  for (const InstructionSet set : all_sets()) {
    const jit::Target* const target = jit::find_target(set);
    if (target == nullptr) continue;
    // Where x is 0, as it is beyond the end, the loop is wanted.
    jit::CodeBuilder builder(target->scales);
    const Value x = builder.load(0, Lane::f32, false);
    const Value holds = builder.apply(Op::not_equal, Lane::mask32, x, builder.constant(Lane::f32, 0));
    jit::Call call{count_calls, DType::f32, 1, {DType::f32}, {x, jit::no_value, jit::no_value}};
    builder.store(builder.call(call, Lane::f32, holds, x), 0);
    jit::KernelSpec spec{builder.take(), {{DType::f32}}, {{DType::f32}}, jit::Variant::rows};
    const auto code = jit::find_target(set)->emit(spec);
    REQUIRE(code != nullptr);
    for (int columns = 1; columns <= 40; ++columns) {
      std::array<float, 64> from{}, to{};
      for (int i = 0; i < columns; ++i) from[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
      const auto run = [&] {
        jit::Frame frame;
        frame.rows = 1;
        frame.columns = columns;
        frame.pointers[0] = {reinterpret_cast<std::byte*>(from.data()), 0, 4, nullptr};
        frame.pointers[1] = {reinterpret_cast<std::byte*>(to.data()), 0, 4, nullptr};
        calls = 0;
        code->entry()(&frame);
      };
      run();
      CHECK(calls == 0);
      CHECK(to == from);
      from[static_cast<std::size_t>(columns - 1)] = 0;
      run();
      CHECK(calls == 1);
      CHECK(std::signbit(to[static_cast<std::size_t>(columns - 1)]));
    }
  }
}

}  // namespace tyto::cpu::testing::jit_code
