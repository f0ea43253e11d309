// SPDX-License-Identifier: MIT
// Interleaves several searches for one capacity: which order of preference succeeds cannot be known before.
#pragma once

#include <memory>
#include <vector>

#include "optimiser/memory/branch_and_bound.hpp"
#include "optimiser/memory/placement.hpp"

namespace tyto::memory {

/// Searches with different orders, by turns or on several threads, until one finds a plan or proves that there is none.
class Portfolio {
 public:
  Portfolio(const Problem& problem, Bytes capacity, const Effort& effort);

  /// Each search goes on for `nodes` more nodes. The answer is that of the first search, in the portfolio's order, that
  /// has one, so that it does not depend on threads; with a deadline the quickest one's.
  FitSearch::Outcome run(std::int64_t nodes);

  Bytes capacity() const { return capacity_; }
  /// The plan, after `found`.
  Placement placement() const;
  /// Nodes that the last run took: of the search that answered and of those before it. How far those behind it came,
  /// when they were stopped, is up to the threads.
  std::int64_t nodes_of_run() const { return nodes_of_run_; }

 private:
  struct Member {
    std::unique_ptr<FitSearch> search;
    std::atomic<bool> stop{false};
    FitSearch::Outcome outcome = FitSearch::Outcome::paused;
    std::int64_t nodes_before = 0;  // of the search when this run began
  };

  void reshuffle();
  void work_through(std::atomic<std::size_t>& next, std::int64_t nodes);
  void run_member(std::size_t member, std::int64_t nodes);

  const Problem& problem_;
  Bytes capacity_;
  const Effort& effort_;
  std::vector<std::unique_ptr<Member>> members_;
  std::size_t lasting_ = 0;  // members that keep their search from run to run; the others start afresh
  std::uint64_t runs_ = 0;
  std::int64_t nodes_of_run_ = 0;
  std::size_t winner_ = 0;
};

/// Searches upwards and downwards between the problem's bound and `start` until they meet or `work` is used up.
/// One unit of work is about a nanosecond.
Placement search_between(const Problem& problem, const Effort& effort, Placement start, std::int64_t work);

}  // namespace tyto::memory
