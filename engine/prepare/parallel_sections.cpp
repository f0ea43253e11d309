// SPDX-License-Identifier: MIT
// Grows branches over the steps that follow each step; the run of steps that saves most becomes a section.
#include "engine/prepare/parallel_sections.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace tyto::run {

namespace {

/// A stretch of so many steps is searched; of one branch alone a quarter of it says that there are no others.
constexpr std::size_t longest_section = 128, longest_start = longest_section / 4;
/// The least part of its steps' time that a section must save: costs are known no better.
constexpr double least_saving = 0.15;

/// The range within a row of a view whose axes are rows, a multiple of `pitch` apart, or lie within a row.
std::optional<core::ElementRange> within_rows(const core::View& view, std::int64_t pitch) {
  std::int64_t first = view.offset % pitch, last = first;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] <= 1 || view.strides[i] % pitch == 0) continue;
    if (view.strides[i] < 0) return {};
    last += (view.shape[i] - 1) * view.strides[i];
  }
  if (last >= pitch) return {};
  return core::ElementRange{first, last + 1};
}

/// Parts of the rows of one tensor, such as the channels of a concatenation, that do not meet.
bool lie_side_by_side(const core::View& a, const core::View& b) {
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    const std::int64_t pitch = a.strides[i];
    if (a.shape[i] <= 1 || pitch <= 1) continue;
    const auto x = within_rows(a, pitch), y = within_rows(b, pitch);
    if (x && y && (x->past <= y->first || y->past <= x->first)) return true;
  }
  return false;
}

/// The branches of a stretch of steps, one step after another.
class Branches {
 public:
  Branches(std::span<const SectionStep> steps, std::size_t first) : steps_(steps), first_(first) {}

  void add(std::size_t step) {
    const auto own = static_cast<std::uint32_t>(step - first_);
    branch_.push_back(own);
    length_.push_back(steps_[step].alone);
    ++count_;
    alone_ += steps_[step].alone;
    together_ += steps_[step].together;
    longest_ = std::max(longest_, length_.back());
    for (const StorageUse& use : steps_[step].uses) {
      auto& users = uses_[use.storage];
      for (const auto& [other, other_use] : users) {
        if (conflict(use, *other_use)) join(other, own);
      }
      users.emplace_back(own, &use);
    }
  }

  /// The branches dealt to lanes, the longest first; nanoseconds of the longest lane.
  double deal(std::size_t most_lanes, std::vector<std::vector<std::uint32_t>>* lanes) const {
    std::vector<std::uint32_t> longest_first;
    for (std::uint32_t i = 0; i < branch_.size(); ++i) {
      if (branch_[i] == i) longest_first.push_back(i);
    }
    std::ranges::stable_sort(longest_first, std::ranges::greater(), [&](std::uint32_t i) { return length_[i]; });
    std::vector<double> load(std::min(most_lanes, longest_first.size()), 0);
    std::vector<std::size_t> lane_of(branch_.size(), 0);
    for (const std::uint32_t branch : longest_first) {
      const auto least = std::ranges::min_element(load);
      *least += length_[branch];
      lane_of[branch] = static_cast<std::size_t>(least - load.begin());
    }
    if (lanes != nullptr) {
      lanes->assign(load.size(), {});
      for (std::uint32_t i = 0; i < branch_.size(); ++i) {
        (*lanes)[lane_of[root(i)]].push_back(static_cast<std::uint32_t>(first_) + i);
      }
    }
    return std::ranges::max(load);
  }

  std::size_t count() const { return count_; }
  std::size_t size() const { return branch_.size(); }
  /// Nanoseconds of all steps one after the other.
  double together() const { return together_; }
  /// No lanes end before.
  double shortest(std::size_t most_lanes) const { return std::max(longest_, alone_ / static_cast<double>(most_lanes)); }

 private:
  std::uint32_t root(std::uint32_t step) const {
    while (branch_[step] != step) step = branch_[step];
    return step;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    if (a > b) std::swap(a, b);
    branch_[b] = a;
    length_[a] += length_[b];
    longest_ = std::max(longest_, length_[a]);
    --count_;
  }

  std::span<const SectionStep> steps_;
  std::size_t first_;
  std::vector<std::uint32_t> branch_;  // of each step one before it in its branch, or itself: then the branch's name
  std::vector<double> length_;         // of branches by their names, in nanoseconds on one thread
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::uint32_t, const StorageUse*>>> uses_;
  std::size_t count_ = 0;
  double alone_ = 0, together_ = 0, longest_ = 0;
};

}  // namespace

bool conflict(const StorageUse& a, const StorageUse& b) {
  if (a.storage != b.storage || (!a.written && !b.written)) return false;
  if (a.element_bytes != b.element_bytes) return true;
  return core::may_overlap(a.view, b.view) && !lie_side_by_side(a.view, b.view) && !lie_side_by_side(b.view, a.view);
}

std::vector<ParallelSection> parallel_sections(std::span<const SectionStep> steps, std::size_t most_lanes,
                                               double nanoseconds_to_meet) {
  std::vector<ParallelSection> sections;
  if (most_lanes < 2) return sections;
  for (std::size_t first = 0; first < steps.size();) {
    Branches branches(steps, first);
    double most_saved = 0;
    std::size_t best_end = first;
    for (std::size_t step = first; step < steps.size() && branches.size() < longest_section; ++step) {
      if (steps[step].needs_order) break;
      branches.add(step);
      const std::size_t count = branches.count();
      if (count < 2 && branches.size() >= longest_start) break;
      if (count < 2) continue;
      const double least = std::max(most_saved, least_saving * branches.together());
      if (branches.together() - branches.shortest(most_lanes) - nanoseconds_to_meet <= least) continue;
      const double saved = branches.together() - branches.deal(most_lanes, nullptr) - nanoseconds_to_meet;
      if (saved <= least) continue;
      most_saved = saved;
      best_end = step + 1;
    }
    if (best_end == first) {
      // One of the first steps may connect the branches: the search goes on a little later.
      first += std::max<std::size_t>(1, branches.size() / 8);
      continue;
    }
    Branches chosen(steps, first);
    for (std::size_t step = first; step < best_end; ++step) chosen.add(step);
    ParallelSection section{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(best_end), {}};
    (void)chosen.deal(most_lanes, &section.lanes);
    sections.push_back(std::move(section));
    first = best_end;
  }
  return sections;
}

}  // namespace tyto::run
