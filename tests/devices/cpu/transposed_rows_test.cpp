// Loops over rows whose operands lie across them: the bits of the same loops over copies of the rows.
#include <doctest/doctest.h>

#include <random>

#include "core/device.hpp"
#include "core/loop_program.hpp"
#include "core/op_ids.hpp"
#include "devices/cpu/device.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace tyto::cpu::testing {

namespace {

using core::OpId;
using core::View;

/// What is left of the sums of two operands above the largest of its row, and the sum of all that.
core::LoopAttributes group_of(DType dtype, const Shape& shape) {
  const DType total = is_floating(dtype) ? dtype : DType::i64;
  core::LoopAttributes group{shape, {static_cast<std::int64_t>(shape.size()) - 1}, {}};
  group.program.inputs = 2;
  group.program.instructions = {
      {OpId::add, dtype, {0, 1}}, {OpId::max, dtype, {2}}, {OpId::subtract, dtype, {2, 3}}, {OpId::sum, total, {4}}};
  group.program.outputs = {4, 5};
  return group;
}

struct Results {
  StoredTensor whole, sums;
  std::size_t workspace;
};

Results run(DType dtype, const StoredTensor& a, const StoredTensor& b) {
  const Shape& shape = a.view.shape;
  Shape reduced = shape;
  reduced[reduced.size() - 1] = 1;
  const core::Attributes group = group_of(dtype, shape);
  Results made{StoredTensor::dense(dtype, shape), StoredTensor::dense(is_floating(dtype) ? dtype : DType::i64, reduced),
               0};
  const core::Operand from[] = {a.operand(), b.operand()}, to[] = {made.whole.operand(), made.sums.operand()};
  const auto kernel = device().prepare({OpId::fused, &group, from, to});
  made.workspace = kernel->workspace();
  std::vector<std::byte> workspace(made.workspace + 64);
  auto* const aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) & ~std::uintptr_t{63});
  const core::Address read[] = {{const_cast<std::byte*>(a.memory.data()), 0},
                                {const_cast<std::byte*>(b.memory.data()), 0}};
  const core::Address written[] = {{made.whole.memory.data(), 0}, {made.sums.memory.data(), 0}};
  kernel->launch(read, written, {aligned, 0});
  return made;
}

void check(DType dtype, const View& across, bool is_copied) {
  CAPTURE(name_of(dtype));
  CAPTURE(across.shape.size());
  CAPTURE(across.shape.back());
  std::mt19937 random(17);
  std::uniform_int_distribution<int> number(-40, 40);
  StoredTensor a(dtype, across);
  StoredTensor dense = StoredTensor::dense(dtype, across.shape), b = StoredTensor::dense(dtype, across.shape);
  for (std::int64_t i = 0; i < across.count(); ++i) {
    const double value = number(random) / (is_floating(dtype) ? 7.0 : 1.0);
    a.put(i, value), dense.put(i, value), b.put(i, number(random));
  }
  const Results expected = run(dtype, dense, b), found = run(dtype, a, b), other = run(dtype, b, a);
  CHECK(found.whole.memory == expected.whole.memory);
  CHECK(found.sums.memory == expected.sums.memory);
  CHECK(other.whole.memory == expected.whole.memory);
  CHECK(other.sums.memory == expected.sums.memory);
  CHECK((found.workspace > expected.workspace) == is_copied);
}

View across_rows(std::int64_t rows, std::int64_t length) { return {{rows, length}, {1, rows}, 0}; }

}  // namespace

TEST_CASE("rows of operands that lie across them are those of copies") {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::i16, DType::i8}) {
    for (const auto& [rows, length] : {std::pair{16, 64}, {17, 65}, {100, 100}, {333, 128}, {40, 1000}, {1000, 77}})
      check(dtype, across_rows(rows, length), true);
    // Short rows, few of them, and rows too long for blocks.
    check(dtype, across_rows(100, 24), false);
    check(dtype, across_rows(15, 100), false);
    check(dtype, across_rows(16, 30000), false);
    // Images of channels that lie apart, and every second column of a matrix.
    check(dtype, {{5, 33, 70}, {33 * 70, 1, 33}, 0}, true);
    check(dtype, {{3, 4, 50, 70}, {4 * 50 * 70, 50, 1, 4 * 50}, 0}, true);
    check(dtype, {{50, 100}, {1, 2 * 50}, 3}, true);
  }
}

TEST_CASE("operands of wide elements are copied where they come from memory") {
  check(DType::f64, across_rows(100, 100), false);
  check(DType::f64, across_rows(4000, 300), true);
  check(DType::i64, across_rows(3700, 301), true);
}

}  // namespace tyto::cpu::testing
