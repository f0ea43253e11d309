// SPDX-License-Identifier: MIT
// Decides whether blocks fit into a capacity: a depth-first search that can be paused and resumed.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "optimiser/memory/problem.hpp"

namespace tyto::memory {

/// One search for one capacity with one order of preference.
///
/// It decides which block to place next, always at its lowest possible offset, and only builds plans in ascending
/// (offset, rank): every plan that cannot be pushed further down is built that way exactly once. A search keeps its own
/// stack, so that several orders can take turns without losing work.
class FitSearch {
 public:
  enum class Outcome { found, infeasible, paused };

  struct SearchOptions {
    /// Whether blocks of sections with much left to place come before what `preference` says. Looked at again whenever
    /// the problem falls apart.
    bool heaviest_first = false;
    /// In sections without any waste left only few blocks can come next. The search branches on such a section when at
    /// most so many can; 0 leaves that inference out, which suits some instances better.
    std::size_t most_in_tight_section = 1;
  };

  static std::unique_ptr<FitSearch> start(const Problem& problem, std::span<const Index> preference, Bytes capacity,
                                          SearchOptions options);
  virtual ~FitSearch() = default;

  /// Places at most `nodes` more blocks. Pauses early when `stop` is set.
  virtual Outcome run(std::int64_t nodes, const std::atomic<bool>& stop) = 0;

  /// Offsets of the plan found, in the problem's order.
  virtual std::vector<Bytes> offsets() const = 0;

  std::int64_t nodes() const { return nodes_; }

 protected:
  std::int64_t nodes_ = 0;
};

}  // namespace tyto::memory
