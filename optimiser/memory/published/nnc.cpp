// SPDX-License-Identifier: MIT
// nnc: libnnc's rule since 2019; the largest blocks first, among equals the one in most conflicts, into the tightest
// edge.
#include <algorithm>

#include "optimiser/memory/published/allocation_graph.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {

Placement nnc(const Problem& p, const Effort&) {
  AllocationGraph graph(p);
  std::vector<Index> degree(p.size.size(), 0);
  for (Index i = 0; i < p.count(); ++i) {
    p.for_each_neighbour(i, [&](Index) { ++degree[static_cast<std::size_t>(i)]; });
  }
  std::vector<Index> waiting;  // largest first, so that candidates of one size stand together at the front
  for (const Index i : arrange(p, Order::size)) {
    if (p.fixed[static_cast<std::size_t>(i)] == not_fixed) waiting.push_back(i);
  }
  std::vector<Index> candidates;
  while (!waiting.empty()) {
    const Bytes largest = p.padded[static_cast<std::size_t>(waiting.front())];
    candidates.clear();
    for (const Index i : waiting) {
      if (p.padded[static_cast<std::size_t>(i)] != largest) break;
      candidates.push_back(i);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&](Index a, Index b) {
      return degree[static_cast<std::size_t>(a)] > degree[static_cast<std::size_t>(b)];
    });
    Index chosen = candidates.front();
    std::optional<std::size_t> edge;
    for (const Index i : candidates) {
      edge = graph.tightest_edge({i});
      if (edge) {
        chosen = i;
        break;
      }
    }
    graph.insert({chosen}, edge);
    waiting.erase(std::find(waiting.begin(), waiting.end(), chosen));
    p.for_each_neighbour(chosen, [&](Index j) { --degree[static_cast<std::size_t>(j)]; });
  }
  return graph.placement();
}

}  // namespace tyto::memory
