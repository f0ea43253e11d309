// SPDX-License-Identifier: MIT
// Loop programs of several instructions: types, constants, several outputs, results laid over operands.
#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace loop_programs_test {

namespace {

using namespace tyto;
using namespace tyto::cpu::testing;
using core::LoopBuilder;
using core::OpId;
using core::View;

void run(const core::LoopProgram& program, std::vector<StoredTensor*> inputs, std::vector<StoredTensor*> outputs,
         const cpu::KernelChoice& choice = {}) {
  std::vector<core::Operand> operands, results;
  std::vector<core::Address> from, to;
  for (StoredTensor* input : inputs) {
    operands.push_back(input->operand());
    from.push_back({input->memory.data(), 0});
  }
  for (StoredTensor* output : outputs) {
    results.push_back(output->operand());
    to.push_back({output->memory.data(), 0});
  }
  cpu::prepare_elements(cpu::bound_loop(program, operands, results), choice)->launch(from, to, {});
}

StoredTensor counted(DType type, const View& view, int modulus) {
  StoredTensor tensor(type, view);
  const core::ElementRange range = core::touched(view);
  for (std::int64_t at = range.first; at < range.past; ++at) tensor.put_at(at, at % modulus);
  return tensor;
}

TEST_CASE("a chain is computed run by run, whatever the operands' types and layouts") {
  // (a * b + 3) < c ? a : -b, with a in f16, b a row, c a column
  const auto f32 = DType::f32;
  LoopBuilder program(std::vector{DType::f16, f32, DType::i32});
  const auto a = program.as(f32, 0), c = program.as(f32, 2);
  const core::LoopValue b = 1;
  const auto sum =
      program.apply(OpId::add, f32, {program.apply(OpId::multiply, f32, {a, b}), program.constant(3, f32)});
  const auto below = program.apply(OpId::less, DType::boolean, {sum, c});
  const auto chosen = program.apply(OpId::where, f32, {below, a, program.apply(OpId::negate, f32, {b})});
  const core::LoopProgram chain = program.finish({&chosen, 1});
  for (const Shape& shape : {Shape{40, 30}, Shape{3, 700}, Shape{600, 2}}) {
    StoredTensor first = counted(DType::f16, View::dense(shape), 11);
    StoredTensor row = counted(DType::f32, core::broadcast_to(View::dense({shape[1]}), shape), 7);
    StoredTensor column = counted(DType::i32, core::broadcast_to(View::dense({shape[0], 1}), shape), 40);
    for (const cpu::InstructionSet set : all_sets()) {
      for (const int threads : {1, 2}) {
        StoredTensor result = StoredTensor::dense(DType::f64, shape);
        run(chain, {&first, &row, &column}, {&result}, {.instructions = set, .threads = threads});
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < result.view.count(); ++i) {
          const long double x = first.get(i), y = row.get(i);
          wrong += result.get(i) != (x * y + 3 < column.get(i) ? x : -y);
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("rows of few elements with an operand that has one a column give the same as any others") {
  // x > 0 ? x : slope * x + shift, laid over x; slope in every second place of its memory, shift in f16
  const auto f32 = DType::f32;
  LoopBuilder program(std::vector{f32, f32, DType::f16});
  const core::LoopValue x = 0, slope = 1, shift = program.as(f32, 2);
  const auto other = program.apply(OpId::add, f32, {program.apply(OpId::multiply, f32, {slope, x}), shift});
  const auto above = program.apply(OpId::greater, DType::boolean, {x, program.constant(0, f32)});
  const auto chosen = program.apply(OpId::where, f32, {above, x, other});
  const core::LoopProgram leaky = program.finish({&chosen, 1});
  // Rows that come out even in runs of several, an odd number of them, a prime number, few, and with others around.
  for (const Shape& shape : {Shape{4096, 10}, Shape{735, 3}, Shape{509, 24}, Shape{30, 7}, Shape{5, 96, 20}}) {
    const std::int64_t columns = shape.back();
    for (const int threads : {1, 2}) {
      StoredTensor numbers = counted(f32, View::dense(shape), 23);
      for (std::int64_t i = 0; i < numbers.view.count(); i += 3) numbers.put_at(i, -1.0 - static_cast<double>(i % 5));
      View spread = View::dense({columns});
      spread.strides[0] = 2;
      StoredTensor slopes = counted(f32, core::broadcast_to(spread, shape), 9);
      StoredTensor shifts = counted(DType::f16, core::broadcast_to(View::dense({columns}), shape), 4);
      const auto before = numbers.numbers();
      cpu::KernelChoice choice;
      choice.threads = threads;
      run(leaky, {&numbers, &slopes, &shifts}, {&numbers}, choice);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < numbers.view.count(); ++i) {
        const long double from = before[static_cast<std::size_t>(i)];
        wrong += numbers.get(i) != (from > 0 ? from : slopes.get(i) * from + shifts.get(i));
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a result laid over an operand is written after the operand's last use") {
  // y = a + b lies over a, which the second output a * 2 reads later.
  const auto f32 = DType::f32;
  LoopBuilder program(std::vector{f32, f32});
  const std::vector results{program.apply(OpId::add, f32, {0, 1}),
                            program.apply(OpId::multiply, f32, {0, program.constant(2, f32)})};
  StoredTensor first = counted(f32, View::dense({1000}), 100), second = counted(f32, View::dense({1000}), 13),
               twice = StoredTensor::dense(f32, {1000});
  const auto before = first.numbers();
  run(program.finish(results), {&first, &second}, {&first, &twice});
  for (std::int64_t i = 0; i < 1000; ++i) {
    CHECK(first.get(i) == before[static_cast<std::size_t>(i)] + second.get(i));
    CHECK(twice.get(i) == 2 * before[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("an operand that is copied as well is copied before a result is laid over it") {
  const auto f32 = DType::f32;
  LoopBuilder program(std::vector{f32});
  const std::vector<core::LoopValue> results{program.apply(OpId::square, f32, {0}), 0};
  StoredTensor operand = counted(f32, View::dense({777}), 50), copy = StoredTensor::dense(f32, {777});
  const auto before = operand.numbers();
  run(program.finish(results), {&operand}, {&operand, &copy});
  CHECK(copy.numbers() == before);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < 777; ++i) {
    const auto x = before[static_cast<std::size_t>(i)];
    wrong += operand.get(i) != x * x;
  }
  CHECK(wrong == 0);
}

TEST_CASE("two results may lie over two operands, each read by both") {
  // sum = s + g g and w - sum / g: over s and w as an optimiser has them, over w and s, and apart.
  const auto f32 = DType::f32;
  LoopBuilder program(std::vector{f32, f32, f32});
  const core::LoopValue w = 0, s = 1, g = 2;
  const auto sum = program.apply(OpId::add, f32, {s, program.apply(OpId::square, f32, {g})});
  const std::vector results{sum, program.apply(OpId::subtract, f32, {w, program.apply(OpId::divide, f32, {sum, g})})};
  const Shape shape{1003};
  for (const int first : {1, 0, 2, 3}) {
    for (const int threads : {1, 2}) {
      std::vector<StoredTensor> operands;
      for (const int modulus : {9, 5, 4}) {
        operands.push_back(StoredTensor::dense(f32, shape));
        for (std::int64_t i = 0; i < 1003; ++i) operands.back().put(i, static_cast<float>(1 << i % modulus));
      }
      const std::vector<StoredTensor> before = operands;
      StoredTensor apart = StoredTensor::dense(f32, shape), other = apart;
      StoredTensor& squares = first == 3 ? apart : operands[static_cast<std::size_t>(first)];
      StoredTensor& weights = first == 3 ? other : operands[first == 0 ? 1 : 0];
      run(program.finish(results), {&operands[0], &operands[1], &operands[2]}, {&squares, &weights},
          {.instructions = {}, .threads = threads});
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < 1003; ++i) {
        const auto x = before[0].get(i), y = before[1].get(i), z = before[2].get(i);
        wrong += squares.get(i) != y + z * z || weights.get(i) != x - (y + z * z) / z;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a value may be written to several outputs and read on") {
  const auto i32 = DType::i32;
  LoopBuilder program(std::vector{i32});
  const auto square = program.apply(OpId::square, i32, {0});
  const std::vector<core::LoopValue> results{square, square, program.apply(OpId::negate, i32, {square}), 0};
  StoredTensor from = counted(i32, View::dense({777}), 50);
  StoredTensor one = StoredTensor::dense(i32, {777}), two(DType::f32, View{{777}, {-2}, 1560}), three = one,
               four = StoredTensor::dense(DType::u8, {777});
  run(program.finish(results), {&from}, {&one, &two, &three, &four});
  for (std::int64_t i = 0; i < 777; ++i) {
    const long double x = from.get(i);
    CHECK(one.get(i) == x * x);
    CHECK(two.get(i) == x * x);
    CHECK(three.get(i) == -x * x);
    CHECK(four.get(i) == x);
  }
}

TEST_CASE("a long program recycles its tiles") {
  // x + 1 + 1 + ..., a hundred times, and the sum of every tenth step kept alive to the end.
  const auto f64 = DType::f64;
  LoopBuilder program(std::vector{f64});
  core::LoopValue sum = 0;
  const auto one = program.constant(1, f64);
  auto kept = sum;
  for (int i = 0; i < 100; ++i) {
    sum = program.apply(OpId::add, f64, {sum, one});
    if (i % 10 == 0) kept = program.apply(OpId::add, f64, {kept, sum});
  }
  const auto result = program.apply(OpId::subtract, f64, {kept, sum});
  StoredTensor from = counted(f64, View::dense({5000}), 1000), to = StoredTensor::dense(f64, {5000});
  run(program.finish({&result, 1}), {&from}, {&to});
  // kept = 11 x + (1 + 11 + ... + 91), sum = x + 100
  for (std::int64_t i = 0; i < 5000; ++i) CHECK(to.get(i) == 10 * from.get(i) + 460 - 100);
}

TEST_CASE("an operator on a type that it is not defined on is refused") {
  LoopBuilder program(std::vector{DType::i32});
  const auto result = program.apply(OpId::exp, DType::i32, {0});
  StoredTensor from = counted(DType::i32, View::dense({3}), 3), to = from;
  CHECK_THROWS_WITH_AS(run(program.finish({&result, 1}), {&from}, {&to}), "cpu: exp has no loop on i32", DeviceError);
}

}  // namespace

}  // namespace loop_programs_test
