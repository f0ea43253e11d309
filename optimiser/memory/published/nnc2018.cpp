// SPDX-License-Identifier: MIT
// nnc2018: the rule of the published article; most conflicts first, each candidate also paired with a larger block.
#include <algorithm>

#include "optimiser/memory/published/allocation_graph.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

constexpr Index no_partner = -1;

struct Candidate {
  Index block;
  Index partner;
  Bytes size;
  Index degree;
};

}  // namespace

// Edges may touch the source and the sink, as in every released version of the program; the article's text forbids it,
// which would cost several times the memory.
Placement nnc2018(const Problem& p, const Effort&) {
  AllocationGraph graph(p);
  std::vector<Index> degree(p.size.size(), 0);
  std::vector<Index> waiting;
  for (Index i = 0; i < p.count(); ++i) {
    p.for_each_neighbour(i, [&](Index) { ++degree[static_cast<std::size_t>(i)]; });
    if (p.fixed[static_cast<std::size_t>(i)] == not_fixed) waiting.push_back(i);
  }
  const auto size = [&](Index i) { return p.padded[static_cast<std::size_t>(i)]; };
  std::vector<Candidate> candidates;
  while (!waiting.empty()) {
    Index most = 0;
    for (const Index i : waiting) most = std::max(most, degree[static_cast<std::size_t>(i)]);
    candidates.clear();
    for (const Index i : waiting) {
      const Index own = degree[static_cast<std::size_t>(i)];
      if (own != most) continue;
      candidates.push_back({i, no_partner, size(i), own});
      for (const Index j : waiting) {
        if (size(j) <= size(i) || p.conflicts(i, j)) continue;
        candidates.push_back({i, j, size(j), own + degree[static_cast<std::size_t>(j)]});
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.size != b.size ? a.size > b.size : a.degree > b.degree;
    });
    const auto members_of = [&](const Candidate& candidate) {
      std::vector<Index> members{candidate.block};
      if (candidate.partner != no_partner) {
        const bool later = graph.steps_after(candidate.partner, candidate.block) > 0;
        members.insert(later ? members.end() : members.begin(), candidate.partner);
      }
      return members;
    };
    std::vector<Index> members = members_of(candidates.front());
    std::optional<std::size_t> edge;
    for (const Candidate& candidate : candidates) {
      const std::vector<Index> tried = members_of(candidate);
      edge = graph.tightest_edge(tried);
      if (edge) {
        members = tried;
        break;
      }
    }
    graph.insert(members, edge);
    for (const Index member : members) {
      waiting.erase(std::find(waiting.begin(), waiting.end(), member));
      p.for_each_neighbour(member, [&](Index j) { --degree[static_cast<std::size_t>(j)]; });
    }
  }
  return graph.placement();
}

}  // namespace tyto::memory
