// SPDX-License-Identifier: MIT
// Fitting a graph into less memory by computing values twice instead of keeping them.
#pragma once

#include <cstdint>

#include "core/graph/graph.hpp"

namespace tyto::recompute {

/// A graph with recomputation, its peak and its extra arithmetic.
struct Fitted {
  core::Graph graph;       // in an order that attains the peak
  std::int64_t peak = 0;   // bytes alive at the worst step; the lowest that was found when it does not fit
  double extra_flops = 0;  // arithmetic done twice
  bool fits = false;
};

/// The cheapest way found to keep the bytes alive at or below `limit`: first values that cost little for the bytes that
/// they free, then whole segments of the graph between values that are kept, cut where few bytes cross. Repeated on the
/// outcome where one round is not enough. The graph itself when it fits already.
Fitted fit(const core::Graph& graph, std::int64_t limit);

}  // namespace tyto::recompute
