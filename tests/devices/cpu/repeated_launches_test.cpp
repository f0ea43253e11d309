// SPDX-License-Identifier: MIT
// Launches that machine code repeats by itself, beside as many launches: the same bits, in place and by rows.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "core/device/device.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/target.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace tyto::cpu::testing {

namespace {

using core::OpId;

std::shared_ptr<const core::Kernel> repeated(OpId op, std::initializer_list<core::Operand> inputs,
                                             const core::Operand& output, InstructionSet set) {
  const core::Attributes none = core::NoAttributes{};
  const std::vector<core::Operand> operands(inputs);
  return prepare_elementwise(
      core::Step{op, &none, operands, {&output, 1}},
      {.implementation = Implementation::automatic, .instructions = set, .threads = 1, .loops = LoopBackend::jit});
}

template <class Visit>
void each_set(const Visit& visit) {
  for (const InstructionSet set : all_sets()) {
    if (!jit::is_available() || jit::find_target(set) == nullptr) continue;
    CAPTURE(static_cast<int>(set));
    visit(set);
  }
}

}  // namespace

TEST_CASE("a carry in place takes up one row after the other as by single launches") {
  constexpr std::int64_t rows = 7;
  Draw draw(5);
  each_set([&](InstructionSet set) {
    for (const DType type : all_types) {
      if (type == DType::boolean) continue;
      for (const std::int64_t length : {1, 3, 8, 100, 2500}) {
        CAPTURE(std::string(name_of(type)));
        CAPTURE(length);
        StoredTensor carry = StoredTensor::dense(type, {length}), stack = StoredTensor::dense(type, {rows, length});
        for (std::int64_t i = 0; i < length; ++i) carry.put(i, draw.of({0, 1, 2, 3}));
        for (std::int64_t i = 0; i < rows * length; ++i) stack.put(i, draw.of({0, 1, 2, 5, 7}));
        const core::Operand one = carry.operand();
        const auto add = repeated(OpId::add, {one, one}, one, set);
        if (!add->repeats(false)) {  // which only the interpreter covers there
          CHECK((type == DType::u32 || type == DType::u64));
          continue;
        }
        const auto row_bytes = static_cast<std::ptrdiff_t>(length) * static_cast<std::ptrdiff_t>(size_of(type));
        StoredTensor expected = carry;
        for (std::int64_t row = 0; row < rows; ++row) {
          const core::Address inputs[] = {{expected.memory.data(), 0},
                                          {stack.memory.data(), static_cast<std::size_t>(row * row_bytes)}};
          add->launch(inputs, {inputs, 1}, {});
        }
        const core::Address operands[] = {{carry.memory.data(), 0}, {stack.memory.data(), 0}, {carry.memory.data(), 0}};
        const std::ptrdiff_t strides[] = {0, row_bytes, 0};
        CHECK(add->repeat(operands, {rows, strides}) == rows);
        CHECK(carry.memory == expected.memory);
      }
    }
  });
}

TEST_CASE("each row is read from the one before, forwards and backwards, and nothing else is written") {
  each_set([&](InstructionSet set) {
    for (const bool reverse : {false, true}) {
      for (const std::int64_t length : {1, 5, 16, 33}) {
        CAPTURE(length);
        constexpr std::int64_t rows = 6;
        StoredTensor stack = StoredTensor::dense(DType::f32, {rows + 1, length});
        for (std::int64_t i = 0; i < (rows + 1) * length; ++i) stack.put(i, 0.125L * static_cast<long double>(i % 9));
        const StoredTensor line = StoredTensor::dense(DType::f32, {length});
        // Beyond the range that the code itself covers, the interpreter is called from it.
        stack.put(reverse ? rows * length : 0, 1e6L);
        StoredTensor expected = stack;
        const auto sine = repeated(OpId::sin, {line.operand()}, line.operand(), set);
        REQUIRE(sine->repeats(false));
        const std::ptrdiff_t bytes = (reverse ? -1 : 1) * static_cast<std::ptrdiff_t>(length) * 4;
        const auto at = [&](StoredTensor& of, std::int64_t row) {
          return core::Address{of.memory.data(), static_cast<std::size_t>((reverse ? rows - row : row) * length * 4)};
        };
        for (std::int64_t row = 0; row < rows; ++row) {
          const core::Address from = at(expected, row), to = at(expected, row + 1);
          sine->launch({&from, 1}, {&to, 1}, {});
        }
        const core::Address operands[] = {at(stack, 0), at(stack, 1)};
        const std::ptrdiff_t strides[] = {bytes, bytes};
        CHECK(sine->repeat(operands, {rows, strides}) == rows);
        CHECK(stack.memory == expected.memory);
      }
    }
  });
}

TEST_CASE("a launch that leaves a zero where it is looked for is the last one") {
  each_set([&](InstructionSet set) {
    StoredTensor numbers = StoredTensor::of(DType::i32, {4, 3, 2, 1, 0, -1, 5});
    StoredTensor limit = StoredTensor::of(DType::i32, {1}), truth = StoredTensor::dense(DType::boolean, {1});
    const core::Operand one = limit.operand();
    const auto above = repeated(OpId::greater, {one, one}, truth.operand(), set);
    REQUIRE(above->repeats(true));
    const core::Address operands[] = {{numbers.memory.data(), 0}, {limit.memory.data(), 0}, {truth.memory.data(), 0}};
    const std::ptrdiff_t strides[] = {4, 0, 0};
    CHECK(above->repeat(operands, {7, strides, truth.memory.data()}) == 4);
    CHECK(above->repeat(operands, {3, strides, truth.memory.data()}) == 3);
    CHECK(above->repeat(operands, {7, strides}) == 7);
    limit.put(0, 9);
    CHECK(above->repeat(operands, {7, strides, truth.memory.data()}) == 1);
  });
}

TEST_CASE("what is more than one row of one thread is not repeated by itself") {
  each_set([&](InstructionSet set) {
    const StoredTensor matrix = StoredTensor::dense(DType::f32, {4, 5}), row(DType::f32, {{4, 5}, {0, 1}, 0});
    CHECK(!repeated(OpId::add, {matrix.operand(), row.operand()}, matrix.operand(), set)->repeats(false));
    const StoredTensor large = StoredTensor::dense(DType::f32, {1 << 20});
    CHECK(!repeated(OpId::add, {large.operand(), large.operand()}, large.operand(), set)->repeats(false));
    const StoredTensor line = StoredTensor::dense(DType::f32, {20});
    const auto add = repeated(OpId::add, {line.operand(), line.operand()}, line.operand(), set);
    REQUIRE(add->repeats(false));
    CHECK(!add->repeats(true));
  });
}

}  // namespace tyto::cpu::testing
