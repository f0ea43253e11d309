// SPDX-License-Identifier: MIT
// The planning problem as every strategy sees it: blocks that matter, times compressed to sections, sizes in units.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tyto/memory.hpp>

namespace tyto::memory {

using Index = std::int32_t;
using Bytes = std::int64_t;

/// Sums of sizes above this are refused, so that no strategy can overflow 64 bits however badly it packs.
inline constexpr Bytes max_total_bytes = Bytes{1} << 61;

inline constexpr Bytes not_fixed = -1;

/// Calls visit(lower, upper) for every span of a block's lifetime.
template <typename Visit>
void for_each_span(const Block& block, Visit&& visit) {
  if (block.spans.empty()) {
    visit(block.lower, block.upper);
    return;
  }
  for (const Span& span : block.spans) visit(span.lower, span.upper);
}

/// Sections [first, last) without a hole.
struct Run {
  Index first;
  Index last;
};

constexpr Bytes round_up(Bytes value, Bytes multiple) {
  const Bytes rest = value % multiple;
  return rest == 0 ? value : value + (multiple - rest);
}

/// Blocks that can collide, in units of the largest number that divides every size, offset and alignment.
///
/// A *section* is a maximal set of blocks alive together: two blocks meet in time exactly when they share a section,
/// and each block covers the sections [first, last). Under a precedence two blocks that share a section still conflict,
/// but others may as well; `conflicts` and the neighbour lists know.
///
/// Where lifetimes have holes, [first, last) is the hull, and a block covers only the sections of its runs.
struct Problem {
  std::vector<Index> input;      // index in the caller's span
  std::vector<Bytes> size;       // in units, > 0
  std::vector<Bytes> padded;     // size rounded up to `grain`
  std::vector<Bytes> alignment;  // in units
  std::vector<Bytes> fixed;      // in units, or not_fixed
  std::vector<Index> first;      // sections
  std::vector<Index> last;       // exclusive
  std::vector<Bytes> birth;      // the caller's times
  std::vector<Bytes> death;
  std::vector<std::size_t> lifetime_begin;    // count() + 1 entries when some lifetime has holes, else none
  std::vector<Span> lifetimes;                // without holes, in the caller's times
  std::vector<Run> runs;                      // the same in sections
  std::vector<Bytes> load;                    // of each section: the sum of padded sizes
  std::int64_t pairs = 0;                     // blocks that meet in time, two by two, once for each run they share
  std::vector<std::int64_t> neighbour_begin;  // count() + 1 entries when `listed`
  std::vector<Index> neighbour;               // ascending inside a block's list
  std::shared_ptr<const Precedence> precedence;
  Bytes unit = 1;
  Bytes grain = 1;  // every offset is a multiple of it
  Bytes slack = 0;  // the most that padding can add at the very top
  Bytes bound = 0;  // in units
  Index sections = 0;
  bool listed = false;  // neighbour lists exist
  bool any_fixed = false;
  bool aligned = false;  // some alignment above one is left
  bool even = true;      // every alignment is the grain, so that padded sizes laid side by side are aligned

  Index count() const { return static_cast<Index>(size.size()); }
  bool has_holes() const { return !lifetime_begin.empty(); }
  /// Calls visit(first, last) for every run of sections that block i covers.
  template <typename Visit>
  void for_each_run(std::size_t i, Visit&& visit) const {
    if (!has_holes()) {
      visit(first[i], last[i]);
      return;
    }
    for (std::size_t k = lifetime_begin[i]; k < lifetime_begin[i + 1]; ++k) visit(runs[k].first, runs[k].last);
  }
  /// Steps at which block i is alive.
  double lifetime(std::size_t i) const {
    if (!has_holes()) return static_cast<double>(death[i]) - static_cast<double>(birth[i]);
    double steps = 0;
    for (std::size_t k = lifetime_begin[i]; k < lifetime_begin[i + 1]; ++k) {
      steps += static_cast<double>(lifetimes[k].upper) - static_cast<double>(lifetimes[k].lower);
    }
    return steps;
  }
  bool meets(Index a, Index b) const {
    if (has_holes()) return runs_meet(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
    return first[static_cast<std::size_t>(a)] < last[static_cast<std::size_t>(b)] &&
           first[static_cast<std::size_t>(b)] < last[static_cast<std::size_t>(a)];
  }
  bool conflicts(Index a, Index b) const {
    if (precedence == nullptr) return meets(a, b);
    return precedence->conflict(static_cast<std::size_t>(input[static_cast<std::size_t>(a)]),
                                static_cast<std::size_t>(input[static_cast<std::size_t>(b)]));
  }
  std::span<const Index> neighbours(Index block) const {
    const auto at = static_cast<std::size_t>(block);
    return {neighbour.data() + neighbour_begin[at], neighbour.data() + neighbour_begin[at + 1]};
  }

  /// Calls visit(j) for every block j != i that conflicts with i.
  template <typename Visit>
  void for_each_neighbour(Index i, Visit&& visit) const {
    if (listed) {
      for (const Index j : neighbours(i)) visit(j);
      return;
    }
    for (Index j = 0; j < count(); ++j) {
      if (j != i && meets(i, j)) visit(j);
    }
  }

  bool runs_meet(std::size_t a, std::size_t b) const;

  /// Lifetimes are intervals, nothing is fixed and padded sizes align by themselves: sweeps over time suffice.
  bool sweepable() const { return precedence == nullptr && !any_fixed && even && !has_holes(); }

  /// The lowest offset at or above `offset` that suits block i.
  Bytes align(Bytes offset, Index i) const {
    return aligned ? round_up(offset, alignment[static_cast<std::size_t>(i)]) : offset;
  }

  /// The end of the highest fixed block; strategies without gaps start there.
  Bytes fixed_top() const;
};

/// Neighbour lists with more pairs than this would be in the way of everything else in memory.
inline constexpr std::int64_t most_listed_pairs = std::int64_t{1} << 22;

/// Validates the caller's blocks and normalises them; neighbours are listed under a precedence only. Throws ValueError.
Problem make_problem(std::span<const Block> blocks, const PlanOptions& options);

/// The same problem with neighbour lists, which take longer to make than most plans; without them where there would be
/// more than `most_pairs`.
Problem with_neighbours(Problem problem, std::int64_t most_pairs = most_listed_pairs);

/// The sub-problem of `members` (ascending), with the same units, and neighbour lists where the whole has them.
Problem sub_problem(const Problem& whole, std::span<const Index> members);

/// The same blocks alive over their whole hulls, without neighbour lists; the bound stays that of the lifetimes with
/// holes. A plan of it is a plan of `problem`.
Problem hull_of(Problem problem);

/// Independent groups of blocks, heaviest section first. One group under a precedence.
std::vector<std::vector<Index>> independent_parts(const Problem& problem);

}  // namespace tyto::memory
