// SPDX-License-Identifier: MIT
// The precedence of blocks in a graph whose steps may run concurrently: reachability as bit rows.
#include <algorithm>
#include <string>

#include <tyto/memory.hpp>

#include "core/value/text.hpp"

namespace tyto TYTO_API {

Precedence::Precedence(std::size_t blocks) : blocks_(blocks), words_((blocks + 63) / 64), bits_(blocks * words_, 0) {}

void Precedence::set_precedes(std::size_t earlier, std::size_t later) {
  if (earlier >= blocks_ || later >= blocks_ || earlier == later) {
    core::throw_error<IndexError>("Precedence::set_precedes: blocks ", earlier, " and ", later, " of ", blocks_,
                                  "; both must exist and differ");
  }
  bits_[earlier * words_ + later / 64] |= std::uint64_t{1} << (later % 64);
}

Precedence Precedence::of_graph(std::size_t blocks, std::size_t steps, std::span<const Edge> edges,
                                std::span<const Use> uses) {
  const auto known = [](std::int32_t index, std::size_t limit) {
    return index >= 0 && static_cast<std::size_t>(index) < limit;
  };
  for (const Edge& edge : edges) {
    if (!known(edge.before, steps) || !known(edge.after, steps) || edge.before >= edge.after) {
      core::throw_error<ValueError>("Precedence::of_graph: edge ", edge.before, " -> ", edge.after, " among ", steps,
                                    " steps; edges run from a lower to a higher step");
    }
  }
  for (const Use& use : uses) {
    if (!known(use.step, steps) || !known(use.block, blocks)) {
      core::throw_error<ValueError>("Precedence::of_graph: step ", use.step, " of ", steps, " uses block ", use.block,
                                    " of ", blocks);
    }
  }

  // Highest steps first, so that the rows of all successors are complete when a step takes them over.
  const std::size_t words = (steps + 63) / 64;
  std::vector<std::uint64_t> reaches(steps * words, 0);
  std::vector<Edge> by_before(edges.begin(), edges.end());
  std::sort(by_before.begin(), by_before.end(), [](const Edge& a, const Edge& b) { return a.before > b.before; });
  for (const Edge& edge : by_before) {
    const auto from = static_cast<std::size_t>(edge.before);
    const auto to = static_cast<std::size_t>(edge.after);
    for (std::size_t w = to / 64; w < words; ++w) reaches[from * words + w] |= reaches[to * words + w];
    reaches[from * words + to / 64] |= std::uint64_t{1} << (to % 64);
  }

  // common[b]: steps reached from every use of b.
  std::vector<std::uint64_t> common(blocks * words, ~std::uint64_t{0});
  std::vector<char> used(blocks, 0);
  std::vector<std::vector<std::size_t>> steps_of(blocks);
  for (const Use& use : uses) {
    const auto block = static_cast<std::size_t>(use.block);
    const auto step = static_cast<std::size_t>(use.step);
    used[block] = 1;
    steps_of[block].push_back(step);
    for (std::size_t w = 0; w < words; ++w) common[block * words + w] &= reaches[step * words + w];
  }
  Precedence result(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    if (used[b] == 0) continue;
    const std::uint64_t* row = common.data() + b * words;
    for (std::size_t c = 0; c < blocks; ++c) {
      if (c == b || used[c] == 0) continue;
      const bool all = std::all_of(steps_of[c].begin(), steps_of[c].end(),
                                   [row](std::size_t step) { return (row[step / 64] >> (step % 64) & 1U) != 0; });
      if (all) result.set_precedes(b, c);
    }
  }
  return result;
}

}  // namespace TYTO_API
