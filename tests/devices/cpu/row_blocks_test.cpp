// SPDX-License-Identifier: MIT
// Blocks of rows: the workspace of a thread does not grow with the number of rows, however operands lie.
#include <doctest/doctest.h>

#include "core/device/device.hpp"
#include "core/graph/loop_program.hpp"
#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/device.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu::row_blocks_test {

namespace {

using core::OpId;
using core::View;

/// The workspace of a group that adds two operands, lying so, takes from each row its largest sum, and folds the rest.
std::size_t workspace_of(OpId fold, DType dtype, const View& a, const View& b) {
  const DType folded = fold == OpId::sum && dtype == DType::i8 ? DType::i64 : dtype;
  core::LoopAttributes group{a.shape, {1}, {}};
  group.program.inputs = 2;
  group.program.instructions = {
      {OpId::add, dtype, {0, 1}}, {OpId::max, dtype, {2}}, {OpId::subtract, dtype, {2, 3}}, {fold, folded, {4}}};
  group.program.outputs = {5};
  const core::Attributes attributes = group;
  const std::vector<core::Operand> from{{dtype, a}, {dtype, b}}, to{{folded, View::dense({a.shape[0], 1})}};
  return device().prepare({OpId::fused, &attributes, from, to})->workspace();
}

}  // namespace

TEST_CASE("blocks of rows that do not lie densely take little room") {
  constexpr std::int64_t rows = 20000, length = 1000;
  const View dense = View::dense({rows, length});
  View apart = dense, repeated = dense;
  apart.strides = {length + 1, 1};
  repeated.strides = {0, 1};
  // Machine code reduces elements as it computes them; the interpreter's folds read them from a buffer.
  const std::size_t block = std::size_t{256} << 10, buffers = jit::is_available() ? 1 : 2;
  const std::size_t most = static_cast<std::size_t>(threads()) * buffers * block;
  for (const DType dtype : {DType::i8, DType::f32}) {
    CAPTURE(name_of(dtype));
    for (const OpId fold : {OpId::max, OpId::sum}) {
      CHECK(workspace_of(fold, dtype, dense, dense) <= most);
      CHECK(workspace_of(fold, dtype, apart, apart) <= most);
      CHECK(workspace_of(fold, dtype, repeated, apart) <= most);
      CHECK(workspace_of(fold, dtype, repeated, repeated) <= most);
    }
  }
}

TEST_CASE("what a thread keeps of a block ends with a cache line, where that of the next thread begins") {
  for (const std::int64_t rows : {1, 7, 33}) {
    const View few = View::dense({rows, 1000});
    for (const OpId fold : {OpId::max, OpId::sum}) {
      const std::size_t bytes = workspace_of(fold, DType::f32, few, few);
      CHECK(bytes > 0);
      CHECK(bytes % workspace_alignment == 0);
    }
  }
}

}  // namespace tyto::cpu::row_blocks_test
