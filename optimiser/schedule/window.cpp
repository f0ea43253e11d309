// SPDX-License-Identifier: MIT
// Subset dynamic programming: one level a task, sets at or above the incumbent dropped, the rest kept by set.
#include "optimiser/schedule/window.hpp"
#include "core/value/hash.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

namespace tyto::schedule {

namespace {

using Mask = std::uint64_t;

/// A storage as the window search tracks it.
struct WindowStorage {
  Mask consumers = 0;      // tasks of the window
  Mask makers = 0;         // where several make parts of it; the first makes room for all
  bool begun = false;      // before the window
  bool ends_here = false;  // nobody reads it after the window
  std::int64_t room = 0;   // once made
};

/// A result of a task of the window; storages are numbered as in window_storages_.
struct Made {
  std::int64_t bytes = 0;
  bool unread = false;
  std::uint32_t shared = nothing;  // its number, where several make parts of it
  std::vector<std::uint32_t> in_place_candidates;
  std::uint32_t update_target = nothing;
};

/// A task of the window.
struct Member {
  Mask needs = 0;
  std::int64_t workspace = 0;
  std::vector<std::uint32_t> reads;
  std::vector<Made> makes;
};

/// One way to have done a set of tasks. The bytes alive differ between ways: an update may have been in place or not.
struct WindowWay {
  Mask done = 0;
  std::int64_t peak = 0;
  std::int64_t live = 0;
  std::uint32_t from = 0;           // the way before, on the level before
  std::uint32_t task = 0;           // position in the window of the task run last
  std::uint32_t sibling = nothing;  // the next way on this level to have done the same
};

/// The ways of a level by what they have done: the first of each set, its siblings behind it. Sets come by the hundred
/// thousand, so none has memory of its own.
class WaysBySet {
 public:
  void clear() { slots_.assign(64, nothing); }

  /// Where the number of the set's first way is, or goes.
  std::uint32_t& first(Mask done, const std::vector<WindowWay>& ways) {
    if (2 * ways.size() >= slots_.size()) grow(ways);
    return slot(done, ways);
  }

 private:
  std::uint32_t& slot(Mask done, const std::vector<WindowWay>& ways) {
    const std::size_t last = slots_.size() - 1;
    std::size_t at = core::mixed_hash(0, done) & last;
    while (slots_[at] != nothing && ways[slots_[at]].done != done) at = (at + 1) & last;
    return slots_[at];
  }
  void grow(const std::vector<WindowWay>& ways) {
    const std::vector<std::uint32_t> before =
        std::exchange(slots_, std::vector<std::uint32_t>(4 * slots_.size(), nothing));
    for (const std::uint32_t number : before) {
      if (number != nothing) slot(ways[number].done, ways) = number;
    }
  }

  std::vector<std::uint32_t> slots_;
};

class Search {
 public:
  Search(const Problem& problem, const Simulation& start, std::span<const Task> window)
      : start_(start), window_(window), members_(window.size()) {
    std::unordered_map<Task, std::uint32_t> place;
    for (std::uint32_t i = 0; i < window.size(); ++i) place.emplace(window[i], i);
    for (std::uint32_t i = 0; i < window.size(); ++i) {
      const Task task = window[i];
      Member& member = members_[i];
      member.workspace = problem.workspace[task];
      for (const Task needed : problem.before[task]) {
        if (const auto found = place.find(needed); found != place.end()) member.needs |= Mask{1} << found->second;
      }
      for (const std::uint32_t storage : problem.makes[task]) {
        Made& made = member.makes.emplace_back();
        made.bytes = problem.bytes[storage];
        made.unread = problem.consumers[storage] == 0;
        for (const std::uint32_t under : problem.in_place_candidates[storage])
          made.in_place_candidates.push_back(window_storage_of(under));
        if (problem.update_target[storage] != nothing)
          made.update_target = window_storage_of(problem.update_target[storage]);
        const std::uint32_t own = window_storage_of(storage);
        if (problem.shared[storage]) {
          made.shared = own;
          window_storages_[own].makers |= Mask{1} << i;
          window_storages_[own].begun = start.room(storage) != 0 || start.into_state(storage);
          if (window_storages_[own].begun) continue;
        }
        window_storages_[own].room = problem.bytes[storage];
      }
      for (const std::uint32_t storage : problem.reads[task]) {
        member.reads.push_back(window_storage_of(storage));
        window_storages_[member.reads.back()].consumers |= Mask{1} << i;
      }
    }
    for (const auto& [storage, number] : number_of_) {
      window_storages_[number].ends_here =
          start.remaining(storage) == static_cast<std::uint32_t>(std::popcount(window_storages_[number].consumers));
    }
  }

  std::optional<Order> run(std::int64_t incumbent, std::int64_t live_after, WindowEffort& effort) {
    std::vector<std::vector<WindowWay>> levels{{WindowWay{0, 0, start_.live(), 0, 0}}};
    std::size_t kept = 1;
    while (levels.size() <= window_.size()) {
      std::vector<WindowWay> next;
      by_set_.clear();
      const std::vector<WindowWay>& level = levels.back();
      for (std::uint32_t from = 0; from < level.size(); ++from) {
        candidates(level[from], effort);
        for (WindowWay& way : ways_) {
          way.from = from;
          if (way.peak < incumbent) keep(way, next);
        }
        if (kept + next.size() > effort.states) return std::nullopt;
      }
      kept += next.size();
      if (next.empty()) return std::nullopt;
      levels.push_back(std::move(next));
    }
    const WindowWay* best = nullptr;
    for (const WindowWay& way : levels.back()) {
      if (way.live <= live_after && (best == nullptr || way.peak < best->peak)) best = &way;
    }
    if (best == nullptr) return std::nullopt;
    Order order(window_.size());
    for (std::size_t level = levels.size() - 1; level > 0; --level) {
      order[level - 1] = window_[best->task];
      best = &levels[level - 1][best->from];
    }
    return order;
  }

 private:
  std::uint32_t window_storage_of(std::uint32_t storage) {
    const auto [found, fresh] = number_of_.emplace(storage, static_cast<std::uint32_t>(window_storages_.size()));
    if (fresh) window_storages_.push_back({.room = start_.room(storage)});
    return found->second;
  }

  // A task that leaves no more bytes alive and raises no peak may as well run at once, whatever follows: what it frees
  // now it would free later too, and others never profit from its waiting. Then it is the only candidate.
  void candidates(const WindowWay& way, WindowEffort& effort) {
    ways_.clear();
    for (std::uint32_t i = 0; i < window_.size(); ++i) {
      if ((way.done >> i & 1) != 0 || (members_[i].needs & ~way.done) != 0) continue;
      ++effort.visited;
      const WindowWay next = step(way, i);
      const bool settled = std::ranges::all_of(members_[i].makes, [&](const Made& made) {
        return made.update_target == nothing || begun(way, made) || goes_into_state(way, i, made);
      });
      if (next.live <= way.live && next.peak <= way.peak && settled) {
        ways_.assign(1, next);
        return;
      }
      ways_.push_back(next);
    }
  }

  // Ways of one set of which none is better in both respects.
  void keep(const WindowWay& way, std::vector<WindowWay>& next) {
    std::uint32_t* place = &by_set_.first(way.done, next);
    while (*place != nothing) {
      WindowWay& other = next[*place];
      if (other.peak <= way.peak && other.live <= way.live) return;
      if (way.peak <= other.peak && way.live <= other.live) {
        const std::uint32_t sibling = other.sibling;
        other = way;
        other.sibling = sibling;
        return;
      }
      place = &other.sibling;
    }
    *place = static_cast<std::uint32_t>(next.size());
    next.push_back(way);
  }

  /// True when the tasks `own` are all consumers that a storage still has when `done` is done.
  static bool read_only_by(Mask own, const WindowStorage& storage, Mask done) {
    return storage.ends_here && (storage.consumers & ~done) == own;
  }

  bool goes_into_state(const WindowWay& way, std::uint32_t i, const Made& made) const {
    if (made.update_target == nothing) return false;
    const WindowStorage& state = window_storages_[made.update_target];
    const Mask own = made.shared == nothing ? state.consumers & (Mask{1} << i) : 0;
    return read_only_by(own, state, way.done);
  }

  /// True when an earlier part has made room already.
  bool begun(const WindowWay& way, const Made& made) const {
    if (made.shared == nothing) return false;
    const WindowStorage& storage = window_storages_[made.shared];
    return storage.begun || (storage.makers & way.done) != 0;
  }

  WindowWay step(const WindowWay& way, std::uint32_t i) {
    const Member& member = members_[i];
    const Mask bit = Mask{1} << i;
    WindowWay out{way.done | bit, way.peak, way.live, 0, i};
    std::int64_t during = way.live + member.workspace;
    taken_.clear();
    for (const Made& made : member.makes) {
      if (begun(way, made) || goes_into_state(way, i, made)) continue;
      during += made.bytes;
      for (const std::uint32_t number : made.in_place_candidates) {
        const WindowStorage& storage = window_storages_[number];
        if (!read_only_by(bit, storage, way.done) || storage.room == 0 || (storage.consumers & bit) == 0) continue;
        if (std::ranges::find(taken_, number) != taken_.end()) continue;
        taken_.push_back(number);
        during -= window_storages_[number].room;
        break;
      }
      if (!made.unread) out.live += made.bytes;
    }
    for (const std::uint32_t number : member.reads) {
      if (read_only_by(bit, window_storages_[number], way.done)) out.live -= window_storages_[number].room;
    }
    out.peak = std::max(out.peak, during);
    return out;
  }

  const Simulation& start_;
  std::span<const Task> window_;
  std::vector<Member> members_;
  std::vector<WindowStorage> window_storages_;
  std::unordered_map<std::uint32_t, std::uint32_t> number_of_;  // of storages among lifetimes
  std::vector<WindowWay> ways_;
  std::vector<std::uint32_t> taken_;  // storages that the results of a step lie in
  WaysBySet by_set_;
};

}  // namespace

std::optional<Order> best_window(const Problem& problem, const Simulation& start, std::span<const Task> window,
                                 std::int64_t incumbent, std::int64_t live_after, WindowEffort& effort) {
  if (window.size() > most_in_window) return std::nullopt;
  return Search(problem, start, window).run(incumbent, live_after, effort);
}

}  // namespace tyto::schedule
