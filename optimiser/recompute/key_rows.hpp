// SPDX-License-Identifier: MIT
// Stacks the random keys of loops, so that loops that draw numbers do not depend on where their rows begin.
#pragma once

#include "core/graph/graph.hpp"

namespace tyto::recompute {

/// The same numbers: loops that draw, whose iterations are counted beforehand and that read or make stacks, are given
/// each iteration's key as a row. The keys, 16 bytes each, are stacked by a loop of their own, one for all loops that
/// use the same. Loops within regions are treated, too.
core::Graph with_key_rows(const core::Graph& graph);

}  // namespace tyto::recompute
