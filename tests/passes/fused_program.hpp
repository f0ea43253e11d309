// SPDX-License-Identifier: MIT
// Shared by tests of fusion: graphs before and after it side by side, the programs of groups, reductions of rows.
#pragma once

#include <doctest/doctest.h>

#include "core/graph/loop_program.hpp"
#include "core/graph/op_ids.hpp"
#include "optimiser/passes/fuse.hpp"
#include "tests/passes/sketch.hpp"

namespace tyto::testing {

/// The program of the first group in the graph, or of a later one.
inline const core::LoopProgram& program_of(const core::Graph& graph, std::size_t which = 0) {
  for (const core::GraphNode& node : graph.nodes()) {
    if (node.op == core::OpId::fused && which-- == 0) return std::get<core::LoopAttributes>(*node.attributes).program;
  }
  throw GraphError("no such group");
}

/// A reduction of the last axis, which stays as one of length 1 unless `keep` is false.
inline core::Port over_rows(Sketch& s, core::OpId op, core::Port x, bool keep = true) {
  const auto axis = static_cast<std::int64_t>(s.builder().graph().type(x).shape.size()) - 1;
  if (op == core::OpId::var) return s.add(op, {x}, core::VarianceAttributes{{axis}, keep, 0});
  return s.add(op, {x}, core::AxesAttributes{{axis}, keep});
}

/// That the graphs give the same bits.
inline void check_same(const core::Graph& plain, const core::Graph& fused) {
  CHECK(agree(results_of(plain), results_of(fused)));
}

}  // namespace tyto::testing
