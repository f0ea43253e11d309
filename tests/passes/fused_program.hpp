// The programs of a graph's groups, and graphs before and after fusion side by side.
#pragma once

#include <doctest/doctest.h>

#include "engine/core/fused.hpp"
#include "tests/passes/sketch.hpp"

namespace tyto::testing {

/// The program of the first group in the graph, or of a later one.
inline const core::FusedProgram& program_of(const core::Graph& graph, std::size_t which = 0) {
  for (const core::GraphNode& node : graph.nodes()) {
    if (node.op == core::OpId::fused && which-- == 0) return std::get<core::FusedAttributes>(*node.attributes).program;
  }
  throw GraphError("no such group");
}

inline void check_same(const core::Graph& plain, const core::Graph& fused) {
  CHECK(agree(results_of(plain), results_of(fused)));
}

}  // namespace tyto::testing
