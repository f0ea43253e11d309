// SPDX-License-Identifier: MIT
// Loops over rows with transposed operands give the bits of the same loops over copies of the rows.
#include <doctest/doctest.h>

#include <random>
#include <span>

#include "core/device/device.hpp"
#include "core/graph/loop_program.hpp"
#include "core/graph/op_ids.hpp"
#include "core/loop/operator_loop.hpp"
#include "devices/cpu/device/device.hpp"
#include "devices/cpu/loop/element_source.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/row_plan.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace tyto::cpu::testing {

namespace {

using core::OpId;
using core::View;

/// What is left of the sums of two operands above the largest of its row, and the sum of all that; or, of three, what
/// of the first two is left above the smallest of the third, which is read again, and that.
core::LoopAttributes group_of(DType dtype, const Shape& shape, std::size_t operands) {
  const DType total = is_floating(dtype) ? dtype : DType::i64;
  core::LoopAttributes group{shape, {static_cast<std::int64_t>(shape.size()) - 1}, {}};
  group.program.inputs = static_cast<std::uint16_t>(operands);
  if (operands == 2) {
    group.program.instructions = {
        {OpId::add, dtype, {0, 1}}, {OpId::max, dtype, {2}}, {OpId::subtract, dtype, {2, 3}}, {OpId::sum, total, {4}}};
    group.program.outputs = {4, 5};
  } else {
    group.program.instructions = {{OpId::add, dtype, {0, 1}},      {OpId::max, dtype, {3}},
                                  {OpId::subtract, dtype, {3, 4}}, {OpId::maximum, dtype, {5, 2}},
                                  {OpId::min, dtype, {2}},         {OpId::subtract, dtype, {6, 7}}};
    group.program.outputs = {8, 7};
  }
  return group;
}

struct Results {
  StoredTensor whole, rows;
  std::size_t copied;  // operands
};

Results run(DType dtype, std::initializer_list<const StoredTensor*> operands) {
  const Shape& shape = (*operands.begin())->view.shape;
  Shape reduced = shape;
  reduced[reduced.size() - 1] = 1;
  const core::Attributes group = group_of(dtype, shape, operands.size());
  const DType of_rows = operands.size() == 3 || is_floating(dtype) ? dtype : DType::i64;
  Results made{StoredTensor::dense(dtype, shape), StoredTensor::dense(of_rows, reduced), 0};
  std::vector<core::Operand> from;
  std::vector<core::Address> read;
  for (const StoredTensor* each : operands) {
    from.push_back(each->operand());
    read.push_back({const_cast<std::byte*>(each->memory.data()), 0});
  }
  const core::Operand to[] = {made.whole.operand(), made.rows.operand()};
  const core::Address written[] = {{made.whole.memory.data(), 0}, {made.rows.memory.data(), 0}};
  const core::Step step{OpId::fused, &group, from, to};
  for (const Level& level : plan_rows(*core::loop_of(step)).levels) made.copied += level.copies.size();
  const auto kernel = device().prepare(step);
  std::vector<std::byte> workspace(kernel->workspace() + 64);
  auto* const aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) & ~std::uintptr_t{63});
  kernel->launch(read, written, {aligned, 0});
  return made;
}

void check(DType dtype, const View& across, bool is_copied) {
  CAPTURE(name_of(dtype));
  CAPTURE(across.shape.size());
  CAPTURE(across.shape.back());
  std::mt19937 random(17);
  std::uniform_int_distribution<int> number(is_unsigned(dtype) ? 0 : -40, 40);
  StoredTensor a(dtype, across), c(dtype, across);
  StoredTensor dense_a = StoredTensor::dense(dtype, across.shape), dense_c = dense_a, b = dense_a;
  for (std::int64_t i = 0; i < across.count(); ++i) {
    const double value = number(random) / (is_floating(dtype) ? 7.0 : 1.0), other = number(random);
    a.put(i, value), dense_a.put(i, value), c.put(i, other), dense_c.put(i, other), b.put(i, number(random));
  }
  const auto same = [](const Results& found, const Results& expected) {
    CHECK(found.whole.memory == expected.whole.memory);
    CHECK(found.rows.memory == expected.rows.memory);
  };
  const Results two = run(dtype, {&dense_a, &b}), found = run(dtype, {&a, &b});
  same(found, two);
  same(run(dtype, {&b, &a}), two);
  CHECK(two.copied == 0);
  CHECK(found.copied == (is_copied ? 1 : 0));
  const Results three = run(dtype, {&dense_a, &b, &dense_c});
  same(run(dtype, {&a, &b, &c}), three);
  same(run(dtype, {&dense_a, &b, &c}), three);
}

View across_rows(std::int64_t rows, std::int64_t length) { return {{rows, length}, {1, rows}, 0}; }

}  // namespace

TEST_CASE("rows of operands that lie across them are those of copies") {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::i32, DType::i16, DType::i8, DType::u8, DType::u32, DType::f64}) {
    for (const auto& [rows, length] : {std::pair{16, 64}, {17, 65}, {100, 100}, {333, 128}, {40, 1000}, {1000, 77}})
      check(dtype, across_rows(rows, length), true);
    // Short rows, few of them, and rows too long for blocks.
    check(dtype, across_rows(100, 24), false);
    check(dtype, across_rows(7, 100), false);
    check(dtype, across_rows(16, 30000), false);
    // Images of channels that lie apart, and every second column of a matrix.
    check(dtype, {{5, 33, 70}, {33 * 70, 1, 33}, 0}, true);
    check(dtype, {{3, 4, 50, 70}, {4 * 50 * 70, 50, 1, 4 * 50}, 0}, true);
    check(dtype, {{50, 100}, {1, 2 * 50}, 3}, true);
  }
}

TEST_CASE("wide elements that are read once are copied where they come from memory or fall into a few sets") {
  const auto copies = [](std::int64_t rows, std::int64_t length) {
    core::LoopAttributes group{{rows, length}, {1}, {}};
    group.program.inputs = 2;
    group.program.instructions = {{OpId::multiply, DType::f64, {0, 1}}, {OpId::sum, DType::f64, {2}}};
    group.program.outputs = {3};
    const core::Attributes attributes = group;
    const core::Operand from[] = {{DType::f64, across_rows(rows, length)}, {DType::f64, View::dense({rows, length})}};
    const core::Operand to{DType::f64, View::dense({rows, 1})};
    std::size_t count = 0;
    for (const Level& level : plan_rows(*core::loop_of({OpId::fused, &attributes, from, {&to, 1}})).levels)
      count += level.copies.size();
    return count;
  };
  CHECK(copies(39, 256) == 0);
  CHECK(copies(128, 256) == 1);
  CHECK(copies(8001, 256) == 1);
}

TEST_CASE(
    "what a reduction reads of operands that lie across is computed for as many rows as a cache line has elements") {
  if (!jit::is_available()) return;
  const auto at_once = [](DType dtype, const View& across) {
    core::LoopProgram program;
    program.inputs = 2;
    program.instructions = {{OpId::subtract, dtype, {0, 1}}};
    program.outputs = {2};
    const core::Operand from[] = {{dtype, across}, {dtype, View::dense(across.shape)}};
    const core::Operand to{dtype, View::dense(across.shape)};
    return prepare_source(bound_loop(program, {from[0], from[1]}, {to}))->at_once();
  };
  for (const DType dtype : {DType::f64, DType::i64, DType::f32, DType::u8}) {
    CAPTURE(name_of(dtype));
    const auto together = static_cast<std::int64_t>(64 / size_of(dtype));
    CHECK(at_once(dtype, across_rows(512, 500)) == together * 500);
    CHECK(at_once(dtype, across_rows(500, 512)) == together * 512);
    CHECK(at_once(dtype, across_rows(500, 20)) == 1);
  }
}

namespace {

/// The results of a group that reads these tensors.
std::vector<std::byte> fused(const core::LoopAttributes& group, std::span<const StoredTensor* const> read,
                             StoredTensor result) {
  const core::Attributes attributes = group;
  std::vector<core::Operand> from;
  std::vector<core::Address> places;
  for (const StoredTensor* each : read) {
    from.push_back(each->operand());
    places.push_back({const_cast<std::byte*>(each->memory.data()), 0});
  }
  const core::Operand to = result.operand();
  const core::Address written{result.memory.data(), 0};
  const auto kernel = device().prepare({OpId::fused, &attributes, from, {&to, 1}});
  std::vector<std::byte> workspace(kernel->workspace() + 64);
  auto* const aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) & ~std::uintptr_t{63});
  kernel->launch(places, {&written, 1}, {aligned, 0});
  return result.memory;
}

/// The reduction of `a - b` over some axes, computed as it is read.
std::vector<std::byte> reduced(OpId op, DType dtype, const IntList& axes, const StoredTensor& a,
                               const StoredTensor& b) {
  const Shape& shape = a.view.shape;
  core::LoopAttributes group{shape, axes, {}};
  const bool adds = op == OpId::sum || op == OpId::prod;
  const DType total = adds && !is_floating(dtype) ? DType::i64 : dtype;
  group.program.inputs = 2;
  group.program.instructions = {{OpId::subtract, dtype, {0, 1}}, {op, total, {2}}};
  group.program.outputs = {3};
  Shape rest = shape;
  for (const std::int64_t axis : axes) rest[static_cast<std::size_t>(axis)] = 1;
  const StoredTensor* const read[] = {&a, &b};
  return fused(group, read, StoredTensor::dense(total, rest));
}

}  // namespace

TEST_CASE("reductions take what lies across in the order of copies") {
  const View views[] = {across_rows(17, 64),
                        across_rows(100, 100),
                        across_rows(333, 128),
                        across_rows(40, 1000),
                        across_rows(129, 1500),
                        across_rows(70, 2600),
                        across_rows(5000, 70),
                        across_rows(7, 3000),
                        {{5, 66, 70}, {66 * 70, 1, 66}, 0},
                        {{66, 5, 70}, {1, 66 * 70, 66}, 0},
                        {{50, 300}, {1, 2 * 50}, 3}};
  std::mt19937 random(23);
  for (const DType dtype : {DType::f32, DType::f16, DType::i32, DType::u8, DType::f64}) {
    std::uniform_int_distribution<int> number(is_unsigned(dtype) ? 0 : -40, 40);
    for (const View& across : views) {
      CAPTURE(name_of(dtype));
      CAPTURE(across.shape);
      StoredTensor a(dtype, across), c(dtype, across);
      StoredTensor dense_a = StoredTensor::dense(dtype, across.shape), dense_c = dense_a, b = dense_a;
      for (std::int64_t i = 0; i < across.count(); ++i) {
        const double value = number(random) / (is_floating(dtype) ? 7.0 : 1.0), other = number(random) / 3;
        a.put(i, value), dense_a.put(i, value), c.put(i, other), dense_c.put(i, other), b.put(i, number(random));
      }
      IntList all;
      for (std::int64_t axis = 0; axis < across.rank(); ++axis) all.push_back(axis);
      for (const IntList& axes : {all, IntList{0}, IntList{1}}) {
        for (const OpId op : {OpId::sum, OpId::prod, OpId::max, OpId::var, OpId::logsumexp}) {
          if (!is_floating(dtype) && (op == OpId::var || op == OpId::logsumexp)) continue;
          CAPTURE(core::definition(op).name);
          CHECK(reduced(op, dtype, axes, a, b) == reduced(op, dtype, axes, dense_a, b));
          CHECK(reduced(op, dtype, axes, b, a) == reduced(op, dtype, axes, b, dense_a));
          CHECK(reduced(op, dtype, axes, a, c) == reduced(op, dtype, axes, dense_a, dense_c));
        }
      }
    }
  }
}

TEST_CASE("as many operands that lie across rows as a loop has, and more than are copied") {
  constexpr std::int64_t rows = 70, length = 90;
  constexpr std::uint16_t operands = 7;
  std::mt19937 random(19);
  core::LoopAttributes group{{rows, length}, {1}, {}};
  group.program.inputs = operands;
  std::vector<StoredTensor> across, dense;
  for (std::uint16_t k = 0; k < operands; ++k) {
    across.emplace_back(DType::f32, across_rows(rows, length));
    dense.push_back(StoredTensor::dense(DType::f32, {rows, length}));
    for (std::int64_t i = 0; i < rows * length; ++i) {
      const auto value = static_cast<double>(random() % 1000);
      across[k].put(i, value), dense[k].put(i, value);
    }
    const auto before = static_cast<core::LoopValue>(k == 0 ? 0 : operands + k - 1);
    group.program.instructions.push_back({OpId::subtract, DType::f32, {k, before}});
  }
  const auto last = static_cast<core::LoopValue>(2 * operands - 1);
  group.program.instructions.push_back({OpId::max, DType::f32, {last}});
  group.program.outputs = {static_cast<core::LoopValue>(last + 1)};
  const auto largest = [&](const std::vector<StoredTensor>& list) {
    std::vector<const StoredTensor*> read;
    for (const StoredTensor& each : list) read.push_back(&each);
    return fused(group, read, StoredTensor::dense(DType::f32, {rows, 1}));
  };
  CHECK(largest(across) == largest(dense));
}

}  // namespace tyto::cpu::testing
