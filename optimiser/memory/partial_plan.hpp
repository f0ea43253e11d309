// SPDX-License-Identifier: MIT
// The state of a search: which blocks are placed, where the others can still start, and how to undo a step.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "optimiser/memory/problem.hpp"

namespace tyto::memory {

/// Blocks are numbered by their rank in the order of preference. T is the narrowest integer that holds all offsets:
/// with 32 bits twice as many fit a vector register.
template <typename T>
struct PartialPlan {
  static constexpr Index none = -1;
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  /// The part of the problem that a step is taken in: its unplaced blocks, and its sections [begin, end).
  struct Scope {
    std::span<const Index> open;
    Index begin;
    Index end;
  };
  /// A state of the search, for restore().
  struct Mark {
    std::size_t former;
    std::size_t floors;
  };

  PartialPlan(const Problem& p, std::span<const Index> preference, Bytes whole)
      : capacity(static_cast<T>(whole)),
        padded_capacity(static_cast<T>(whole + p.slack)),
        splits(p.precedence == nullptr),
        holes(p.has_holes()),
        aligned(p.aligned),
        input(preference.begin(), preference.end()) {
    const auto n = input.size();
    std::vector<Index> rank(n);
    for (std::size_t r = 0; r < n; ++r) rank[at(input[r])] = static_cast<Index>(r);
    for (const Index i : input) {
      const std::size_t b = at(i);
      size.push_back(static_cast<T>(p.size[b]));
      padded.push_back(static_cast<T>(p.padded[b]));
      alignment.push_back(static_cast<T>(p.alignment[b]));
      fixed.push_back(static_cast<T>(p.fixed[b]));
      first.push_back(p.first[b]);
      last.push_back(p.last[b]);
      if (!holes) continue;
      run_begin.push_back(runs.size());
      p.for_each_run(b, [&](Index begin, Index end) { runs.push_back({begin, end}); });
    }
    if (holes) run_begin.push_back(runs.size());
    neighbour_begin.push_back(0);
    for (const Index i : input) {
      for (const Index j : p.neighbours(i)) neighbour.push_back(rank[at(j)]);
      std::sort(neighbour.begin() + static_cast<std::ptrdiff_t>(neighbour_begin.back()), neighbour.end());
      neighbour_begin.push_back(neighbour.size());
    }
    fill_sections(p);
    find_identical();
    lowest.resize(n);
    for (std::size_t b = 0; b < n; ++b) lowest[b] = fixed[b] >= 0 ? fixed[b] : 0;
    bound = lowest;
    placed.assign(n, 0);
    asleep.assign(n, 0);
    open_neighbours.resize(n);
    for (std::size_t b = 0; b < n; ++b) {
      open_neighbours[b] = static_cast<Index>(neighbour_begin[b + 1] - neighbour_begin[b]);
    }
  }

  /// The identical block of the rank before comes first.
  bool waits_for_identical(Index i) const {
    return identical_before[at(i)] != none && placed[at(identical_before[at(i)])] == 0;
  }

  bool can_start_now(Index i) const { return asleep[at(i)] == 0 && bound[at(i)] == lowest[at(i)]; }

  /// No unplaced neighbour can slip under block i, so that placing it now shuts nobody out.
  bool nothing_fits_below(Index i) const {
    for (std::size_t m = neighbour_begin[at(i)]; m < neighbour_begin[at(i) + 1]; ++m) {
      const std::size_t j = at(neighbour[m]);
      if (placed[j] == 0 && bound[j] + size[j] <= lowest[at(i)]) return false;
    }
    return true;
  }

  /// Puts block i to sleep: it failed at its lowest offset. False when nothing fits any more.
  bool put_to_sleep(Index i, const Scope& scope, T last_offset) {
    remember(at(i));
    asleep[at(i)] = 1;
    Index begin = first[at(i)];
    Index end = last[at(i)];
    return lift_sleepers(scope.open, begin, end) && sections_hold(scope, last_offset, begin, end);
  }

  /// Places block i at its lowest offset. Nothing unplaced starts below `last_offset` afterwards. False when the others
  /// do not fit any more; the block is placed all the same, until it is taken back.
  bool place(Index i, const Scope& scope, T last_offset) {
    const std::size_t b = at(i);
    const T top = lowest[b] + size[b];
    placed[b] = 1;
    for_each_section(b, [&](Index k) { rest[at(k)] -= padded[b]; });
    for (Index k = first[b]; k < last[b]; ++k) --crossing[at(k)];
    ++crossing[at(last[b] - 1)];  // the block does not cross its last border
    bool alive = true;
    Index touched_begin = first[b];
    Index touched_end = last[b];
    for (std::size_t k = neighbour_begin[b]; k < neighbour_begin[b + 1]; ++k) {
      const std::size_t j = at(neighbour[k]);
      --open_neighbours[j];
      if (placed[j] != 0 || lowest[j] >= top) continue;
      const T raised = aligned ? static_cast<T>(round_up(top, alignment[j])) : top;
      remember(j);
      lowest[j] = raised;
      bound[j] = std::max(bound[j], raised);
      asleep[j] = 0;
      if (bound[j] + size[j] > capacity || (fixed[j] >= 0 && raised > fixed[j])) alive = false;
      touched_begin = std::min(touched_begin, first[j]);
      touched_end = std::max(touched_end, last[j]);
    }
    return alive && lift_sleepers(scope.open, touched_begin, touched_end) &&
           sections_hold(scope, last_offset, touched_begin, touched_end);
  }

  /// Takes back block i, which was placed at the state `before`.
  void take_back(Index i, const Mark& before) {
    const std::size_t b = at(i);
    restore(before);
    for_each_section(b, [&](Index k) { rest[at(k)] += padded[b]; });
    for (Index k = first[b]; k < last[b]; ++k) ++crossing[at(k)];
    --crossing[at(last[b] - 1)];
    for (std::size_t k = neighbour_begin[b]; k < neighbour_begin[b + 1]; ++k) ++open_neighbours[at(neighbour[k])];
    placed[b] = 0;
  }

  Mark mark() const { return {former_.size(), floors_.size()}; }

  /// All offsets and floors as they stood at `before`.
  void restore(const Mark& before) {
    while (former_.size() > before.former) {
      const Former& former = former_.back();
      lowest[at(former.block)] = former.lowest;
      bound[at(former.block)] = former.bound;
      asleep[at(former.block)] = former.asleep;
      former_.pop_back();
    }
    while (floors_.size() > before.floors) {
      floor[at(floors_.back().section)] = floors_.back().floor;
      floors_.pop_back();
    }
  }

  T capacity;
  T padded_capacity;
  bool splits;
  bool holes;
  bool aligned;
  std::vector<Index> input;  // rank -> block of the problem
  std::vector<T> size;       // by rank, as all that follows up to the identical blocks
  std::vector<T> padded;
  std::vector<T> alignment;
  std::vector<T> fixed;
  std::vector<Index> first;
  std::vector<Index> last;
  std::vector<std::size_t> run_begin;  // with holes only
  std::vector<Run> runs;
  std::vector<std::size_t> neighbour_begin;
  std::vector<Index> neighbour;
  std::vector<std::size_t> member_begin;
  std::vector<Index> member;
  std::vector<Index> identical_before;
  std::vector<T> lowest;  // lowest offset still possible; the offset, once placed
  std::vector<T> bound;   // the same, with what is known of sleeping blocks
  std::vector<char> placed;
  std::vector<char> asleep;  // failed at its lowest offset: something must lift it first
  std::vector<Index> open_neighbours;
  std::vector<T> floor;
  std::vector<T> rest;          // padded sizes still to be placed, by section
  std::vector<Index> crossing;  // unplaced blocks that cross the border after each section

 private:
  // Former values of an unplaced block's fields, for undoing.
  struct Former {
    Index block;
    T lowest;
    T bound;
    char asleep;
  };
  struct OldFloor {
    Index section;
    T floor;
  };
  struct Release {
    T from;
    T size;
  };

  void fill_sections(const Problem& p) {
    const auto sections = at(p.sections);
    floor.assign(sections, 0);
    rest.assign(sections, 0);
    crossing.assign(sections, 0);
    std::vector<std::size_t> alive(sections + 1, 0);
    for (std::size_t b = 0; b < size.size(); ++b) {
      for_each_section(b, [&](Index k) {
        rest[at(k)] += padded[b];
        ++alive[at(k) + 1];
      });
      for (Index k = first[b]; k + 1 < last[b]; ++k) ++crossing[at(k)];
    }
    for (std::size_t k = 0; k < sections; ++k) alive[k + 1] += alive[k];
    member_begin = alive;
    member.resize(alive[sections]);
    for (std::size_t b = 0; b < size.size(); ++b) {
      for_each_section(b, [&](Index k) { member[alive[at(k)]++] = static_cast<Index>(b); });
    }
    releases_.resize(64);
  }

  // Links identical blocks: each has the index of the one before it, and is only placed after that one.
  void find_identical() {
    const auto n = size.size();
    identical_before.assign(n, none);
    if (!splits) return;  // under a precedence equal times do not mean equal conflicts
    std::vector<Index> order(n);
    for (std::size_t b = 0; b < n; ++b) order[b] = static_cast<Index>(b);
    const std::vector<Index> same_runs = classes_of_runs();
    const auto key = [&](Index i) {
      return std::tuple(first[at(i)], last[at(i)], size[at(i)], alignment[at(i)], fixed[at(i)], same_runs[at(i)]);
    };
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return std::pair(key(a), a) < std::pair(key(b), b); });
    for (std::size_t k = 1; k < n; ++k) {
      if (key(order[k]) == key(order[k - 1]) && fixed[at(order[k])] < 0) identical_before[at(order[k])] = order[k - 1];
    }
  }

  // The same number for blocks with the same runs.
  std::vector<Index> classes_of_runs() const {
    std::vector<Index> classes(size.size(), 0);
    if (!holes) return classes;
    std::map<std::vector<std::pair<Index, Index>>, Index> known;
    for (std::size_t b = 0; b < size.size(); ++b) {
      std::vector<std::pair<Index, Index>> own;
      for (std::size_t k = run_begin[b]; k < run_begin[b + 1]; ++k) own.emplace_back(runs[k].first, runs[k].last);
      classes[b] = known.emplace(std::move(own), static_cast<Index>(known.size())).first->second;
    }
    return classes;
  }

  template <typename Visit>
  void for_each_section(std::size_t b, Visit&& visit) const {
    if (!holes) {
      for (Index k = first[b]; k < last[b]; ++k) visit(k);
      return;
    }
    for (std::size_t r = run_begin[b]; r < run_begin[b + 1]; ++r) {
      for (Index k = runs[r].first; k < runs[r].last; ++k) visit(k);
    }
  }

  void remember(std::size_t j) { former_.push_back({static_cast<Index>(j), lowest[j], bound[j], asleep[j]}); }

  // A sleeping block will rest on some unplaced neighbour, so it starts no lower than the lowest top among those.
  bool lift_sleepers(std::span<const Index> open, Index& touched_begin, Index& touched_end) {
    for (const Index i : open) {
      const std::size_t b = at(i);
      if (asleep[b] == 0 || placed[b] != 0) continue;
      T support = std::numeric_limits<T>::max();
      for (std::size_t m = neighbour_begin[b]; m < neighbour_begin[b + 1] && support > bound[b]; ++m) {
        const std::size_t j = at(neighbour[m]);
        if (placed[j] == 0) support = std::min(support, static_cast<T>(bound[j] + size[j]));
      }
      if (support <= bound[b]) continue;
      if (support == std::numeric_limits<T>::max() || support + size[b] > capacity) return false;
      remember(b);
      bound[b] = support;
      touched_begin = std::min(touched_begin, first[b]);
      touched_end = std::max(touched_end, last[b]);
    }
    return true;
  }

  // Section inference, for the sections in which anything changed: whatever is unplaced must be stacked above the
  // lowest place where any of it can start. Stacking blocks in the order in which they become placeable wastes least,
  // so if even that passes the capacity, nothing fits.
  bool sections_hold(const Scope& scope, T last_offset, Index touched_begin, Index touched_end) {
    T worst = 0;
    for (Index k = scope.begin; k < scope.end; ++k) {
      const T reach = static_cast<T>(std::max(floor[at(k)], last_offset) + rest[at(k)]);
      worst = std::max(worst, rest[at(k)] > 0 ? reach : T{0});
    }
    if (worst > padded_capacity) return false;
    const Index end = std::min(scope.end, touched_end);
    for (Index k = std::max(scope.begin, touched_begin); k < end; ++k) {
      if (rest[at(k)] > 0 && !stacks(k, last_offset)) return false;
    }
    return true;
  }

  bool stacks(Index section, T last_offset) {
    const std::size_t begin = member_begin[at(section)];
    const std::size_t end = member_begin[at(section) + 1];
    if (releases_.size() < end - begin) releases_.resize(end - begin);
    std::size_t count = 0;
    T low = std::numeric_limits<T>::max();
    T high = 0;
    for (std::size_t m = begin; m < end; ++m) {
      const std::size_t j = at(member[m]);
      if (placed[j] != 0) continue;
      const T release = std::max(bound[j], last_offset);
      releases_[count++] = {release, padded[j]};
      low = std::min(low, release);
      high = std::max(high, release);
    }
    const T due = rest[at(section)];
    if (low > floor[at(section)]) {
      floors_.push_back({section, floor[at(section)]});
      floor[at(section)] = low;
    }
    if (high + due <= padded_capacity) return true;
    if (low + due > padded_capacity) return false;
    for (std::size_t k = 1; k < count; ++k) {
      const Release moving = releases_[k];
      std::size_t to = k;
      for (; to > 0 && releases_[to - 1].from > moving.from; --to) releases_[to] = releases_[to - 1];
      releases_[to] = moving;
    }
    T reach = 0;
    for (std::size_t k = 0; k < count; ++k) reach = std::max(reach, releases_[k].from) + releases_[k].size;
    return reach <= padded_capacity;
  }

  std::vector<Former> former_;
  std::vector<OldFloor> floors_;
  std::vector<Release> releases_;
};

}  // namespace tyto::memory
