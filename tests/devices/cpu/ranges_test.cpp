// SPDX-License-Identifier: MIT
// Programs over rows that lie at distances of their own in every operand: whole, in parts, and reduced.
#include <algorithm>

#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace lines_test {

namespace {

using namespace tyto;
using namespace tyto::cpu::testing;
using core::OpId;
using core::View;

constexpr DType f32 = DType::f32;

/// The view of a part of a larger dense tensor, or whatever its strides say.
View laid(const Shape& shape, std::initializer_list<std::int64_t> strides, std::int64_t offset = 0) {
  View view = View::dense(shape);
  std::copy(strides.begin(), strides.end(), view.strides.begin());
  view.offset = offset;
  return view;
}

/// Small integers, so that any order of operations is exact.
StoredTensor counted(const View& view, int modulus) {
  StoredTensor tensor(f32, view);
  const core::ElementRange range = core::touched(view);
  for (std::int64_t at = range.first; at < range.past; ++at) tensor.put_at(at, at % modulus - modulus / 2);
  return tensor;
}

/// Operands of ((x - m) s) g + b, where m and s are one number for each row or for more.
struct Case {
  const char* name;
  View x, m, s, g, b, result;
};

std::vector<Case> cases(const Shape& shape) {
  const std::int64_t n0 = shape[0], n1 = shape[1], n2 = shape[2], pitch = n2 + 8;
  const View whole = View::dense(shape);
  const auto spread = [&](const Shape& of) { return core::broadcast_to(View::dense(of), shape); };
  const View by_row = spread({n0, n1, 1}), by_first = spread({n0, 1, 1}), by_second = spread({1, n1, 1});
  const View pitched = laid(shape, {n1 * pitch, pitch, 1}, 3);
  return {
      {"dense", whole, by_row, by_row, spread({n2}), spread({n2}), whole},
      {"numbers for the first axis, or the second", whole, by_first, by_second, spread({n1, n2}), whole, whole},
      {"numbers for all", whole, by_row, spread({}), spread({n0, 1, n2}), spread({n2}), whole},
      {"rows with room between them", pitched, by_row, by_first, spread({n2}), pitched, pitched},
      {"rows from the last to the first", laid(shape, {n1 * n2, -n2, 1}, (n1 - 1) * n2), by_row, by_row, whole, whole,
       whole},
      {"axes in another order", laid(shape, {n2, n0 * n2, 1}), by_row, by_first, spread({n2}), whole, whole},
      {"a repeated axis", spread({n1, n2}), by_row, by_second, spread({n0, 1, n2}), spread({n2}), whole},
  };
}

core::LoopProgram affine() {
  core::LoopBuilder program(std::vector(5, f32));
  const core::LoopValue x = 0, m = 1, s = 2, g = 3, b = 4;
  const auto scaled = program.apply(OpId::multiply, f32, {program.apply(OpId::subtract, f32, {x, m}), s});
  const auto result = program.apply(OpId::add, f32, {program.apply(OpId::multiply, f32, {scaled, g}), b});
  return program.finish({&result, 1});
}

std::vector<StoredTensor> operands_of(const Case& each) {
  return {counted(each.x, 13), counted(each.m, 7), counted(each.s, 5), counted(each.g, 3), counted(each.b, 11)};
}

long double expected(const std::vector<StoredTensor>& from, std::int64_t i) {
  return (from[0].get(i) - from[1].get(i)) * from[2].get(i) * from[3].get(i) + from[4].get(i);
}

std::vector<core::Operand> described(const std::vector<StoredTensor>& tensors) {
  std::vector<core::Operand> operands;
  for (const StoredTensor& tensor : tensors) operands.push_back(tensor.operand());
  return operands;
}

std::vector<std::byte*> memory_of(std::vector<StoredTensor>& tensors) {
  std::vector<std::byte*> list;
  for (StoredTensor& tensor : tensors) list.push_back(tensor.memory.data());
  return list;
}

std::vector<cpu::OperandBase> placed(std::vector<StoredTensor>& tensors) {
  std::vector<cpu::OperandBase> list;
  for (std::byte* memory : memory_of(tensors)) list.emplace_back(memory);
  return list;
}

/// Has use(runner) called with the program's runner.
template <class Use>
void with_runner(const cpu::RangeProgram& program, Use use) {
  program.with_runner([](void* context, cpu::RangeRunner& runner) { (*static_cast<Use*>(context))(runner); }, &use);
}

const Shape shapes[] = {{4, 3, 40}, {3, 5, 20}, {2, 3, 1000}, {7, 1, 333}, {2, 2, 2500}, {5, 4, 7}};

TEST_CASE("rows are taken from where they lie, by any number of threads") {
  for (const cpu::InstructionSet set : all_sets()) {
    for (const Shape& shape : shapes) {
      for (const Case& each : cases(shape)) {
        CAPTURE(each.name);
        for (const int threads : {1, 2, 3}) {
          std::vector<StoredTensor> from = operands_of(each);
          StoredTensor result(f32, each.result);
          const core::Operand to = result.operand();
          const auto kernel = cpu::prepare_elements(cpu::bound_loop(affine(), described(from), {to}),
                                                    {.instructions = set, .threads = threads});
          std::vector<core::Address> addresses;
          for (std::byte* memory : memory_of(from)) addresses.push_back({memory, 0});
          const core::Address target{result.memory.data(), 0};
          const std::vector<std::byte> before = result.memory;
          kernel->launch(addresses, {&target, 1}, {});
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < element_count(shape); ++i) wrong += result.get(i) != expected(from, i);
          CHECK(wrong == 0);
          // Nothing is written between the rows.
          StoredTensor untouched(f32, each.result);
          untouched.memory = before;
          for (std::int64_t i = 0; i < element_count(shape); ++i) untouched.put(i, result.get(i));
          CHECK(untouched.memory == result.memory);
        }
      }
    }
  }
}

TEST_CASE("a result may lie over the rows that it is computed from") {
  for (const Shape& shape : shapes) {
    const Case dense = cases(shape)[0];
    std::vector<StoredTensor> from = operands_of(dense);
    const std::vector<StoredTensor> before = from;
    const core::Operand to = from[0].operand();
    const auto program = cpu::prepare_ranges(cpu::bound_loop(affine(), described(from), {to}), 1);
    with_runner(*program, [&](cpu::RangeRunner& runner) {
      const cpu::OperandBase target{from[0].memory.data()};
      runner.bind(placed(from), {&target, 1});
      runner.run_rows({0, element_count(shape)}, 1);
    });
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < element_count(shape); ++i) wrong += from[0].get(i) != expected(before, i);
    CHECK(wrong == 0);
  }
}

TEST_CASE("ranges may begin and end within a row") {
  for (const Shape& shape : shapes) {
    const std::int64_t row = shape[2], count = element_count(shape);
    for (const Case& each : cases(shape)) {
      if (!core::is_dense(each.result)) continue;
      CAPTURE(each.name);
      std::vector<StoredTensor> from = operands_of(each);
      StoredTensor result(f32, each.result);
      const core::Operand to = result.operand();
      const auto program = cpu::prepare_ranges(cpu::bound_loop(affine(), described(from), {to}), 1);
      with_runner(*program, [&](cpu::RangeRunner& runner) {
        const cpu::OperandBase target{result.memory.data()};
        runner.bind(placed(from), {&target, 1});
        const std::int64_t ends[] = {0, 2 * row, 2 * row + 3, 3 * row, count};
        for (std::size_t part = 1; part < std::size(ends); ++part) runner.run_rows({ends[part - 1], ends[part]}, 1);
      });
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) wrong += result.get(i) != expected(from, i);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("buffers hold the rows that are computed together") {
  for (const Shape& shape : shapes) {
    const std::int64_t row = shape[2], rows = shape[0] * shape[1];
    const std::size_t row_bytes = static_cast<std::size_t>(row) * sizeof(float);
    for (const Case& each : cases(shape)) {
      if (!core::is_dense(each.result)) continue;
      CAPTURE(each.name);
      std::vector<StoredTensor> from = operands_of(each);
      const core::Operand to{f32, View::dense(shape)};
      const auto program = cpu::prepare_ranges(cpu::bound_loop(affine(), described(from), {to}), row);
      for (const std::int64_t together : {1, 2, 5}) {
        std::vector<float> buffer(static_cast<std::size_t>(together * row));
        std::int64_t wrong = 0;
        with_runner(*program, [&](cpu::RangeRunner& runner) {
          const cpu::OperandBase target{reinterpret_cast<std::byte*>(buffer.data()), row_bytes};
          runner.bind(placed(from), {&target, 1});
          for (std::int64_t begin = 0; begin < rows; begin += together) {
            const std::int64_t end = std::min(begin + together, rows);
            runner.set_first_row(begin);
            runner.run_rows({begin, end}, row);
            for (std::int64_t i = begin * row; i < end * row; ++i) {
              wrong += buffer[static_cast<std::size_t>(i - begin * row)] != expected(from, i);
            }
          }
        });
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("sums of rows are of the rows that were asked for") {
  if (!cpu::jit::is_available()) return;
  core::LoopBuilder program(std::vector(3, f32));  // (x - m) g
  const auto product = program.apply(OpId::multiply, f32, {program.apply(OpId::subtract, f32, {0, 1}), 2});
  const auto sum_of_row = program.apply(OpId::sum, DType::f64, {product});
  for (const Shape& shape : shapes) {
    const std::int64_t row = shape[2], rows = shape[0] * shape[1];
    for (const Case& each : cases(shape)) {
      CAPTURE(each.name);
      std::vector<StoredTensor> from{counted(each.x, 13), counted(each.m, 7), counted(each.g, 3)};
      const core::Operand to{DType::f64, core::broadcast_to(View::dense({shape[0], shape[1], 1}), shape)};
      const auto sums =
          cpu::prepare_ranges(cpu::bound_loop(program.finish({&sum_of_row, 1}), described(from), {to}), row);
      REQUIRE(sums != nullptr);
      std::vector<double> found(static_cast<std::size_t>(rows), 0.25);
      with_runner(*sums, [&](cpu::RangeRunner& runner) {
        const cpu::OperandBase target{reinterpret_cast<std::byte*>(found.data())};
        runner.bind(placed(from), {&target, 1});
        runner.run_rows({0, 2}, row);
        runner.run_rows({2, rows - 1}, row);
      });
      CHECK(found.back() == 0.25);
      for (std::int64_t line = 0; line + 1 < rows; ++line) {
        long double sum = 0;
        for (std::int64_t i = line * row; i < (line + 1) * row; ++i) {
          sum += (from[0].get(i) - from[1].get(i)) * from[2].get(i);
        }
        CHECK(found[static_cast<std::size_t>(line)] == static_cast<double>(sum));
      }
    }
  }
}

}  // namespace

}  // namespace lines_test
