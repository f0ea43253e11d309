// SPDX-License-Identifier: MIT
// check_memory_plan: the independent judge of plans; it shares no code with what makes them.
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <tyto/memory.hpp>

namespace tyto TYTO_API {
namespace {

// Reports stop here: one broken rule can spoil thousands of pairs.
constexpr std::size_t most_faults = 50;

struct Placed {
  std::size_t block;
  std::int64_t begin;
  std::int64_t end;
};

class Judge {
 public:
  Judge(std::span<const Block> blocks, const MemoryPlan& plan, const PlanOptions& options)
      : blocks_(blocks), plan_(plan), options_(options) {}

  std::vector<std::string> faults() {
    if (shapes_fit()) {
      for (std::size_t i = 0; i < blocks_.size(); ++i) check_alone(i);
      const std::size_t arenas = std::max<std::size_t>(plan_.arena_heights.size(), 1);
      for (std::size_t arena = 0; arena < arenas; ++arena) check_together(static_cast<std::int32_t>(arena));
      check_heights();
    }
    return std::move(faults_);
  }

 private:
  void fault(const std::string& what) {
    if (faults_.size() < most_faults) faults_.push_back(what);
  }

  std::string block(std::size_t i) const {
    const Block& b = blocks_[i];
    return b.label.empty() ? "block " + std::to_string(b.id)
                           : "block " + std::to_string(b.id) + " (" + std::string(b.label) + ")";
  }

  std::int32_t arena_of(std::size_t i) const { return plan_.arenas.empty() ? 0 : plan_.arenas[i]; }

  bool takes_room(std::size_t i) const { return blocks_[i].size > 0 && blocks_[i].upper > blocks_[i].lower; }

  bool shapes_fit() {
    if (plan_.offsets.size() != blocks_.size()) {
      fault("the plan has " + std::to_string(plan_.offsets.size()) + " offsets for " + std::to_string(blocks_.size()) +
            " blocks");
    }
    if (!plan_.arenas.empty() && plan_.arenas.size() != blocks_.size()) {
      fault("the plan has " + std::to_string(plan_.arenas.size()) + " arena numbers for " +
            std::to_string(blocks_.size()) + " blocks");
    }
    return faults_.empty();
  }

  void check_alone(std::size_t i) {
    const Block& b = blocks_[i];
    const std::int64_t offset = plan_.offsets[i];
    if (arena_of(i) < 0 ||
        static_cast<std::size_t>(arena_of(i)) >= std::max<std::size_t>(plan_.arena_heights.size(), 1)) {
      fault(block(i) + " lies in arena " + std::to_string(arena_of(i)) + ", which does not exist");
    }
    if (offset < 0) fault(block(i) + " has the negative offset " + std::to_string(offset));
    if (b.fixed_offset && offset != *b.fixed_offset) {
      fault(block(i) + " is fixed at " + std::to_string(*b.fixed_offset) + " but lies at " + std::to_string(offset));
    }
    check_spans(i);
    if (!takes_room(i) || offset < 0) return;
    for (const std::int64_t alignment : {b.alignment, options_.alignment}) {
      if (offset % alignment != 0) {
        fault(block(i) + " lies at " + std::to_string(offset) + ", which is no multiple of its alignment " +
              std::to_string(alignment));
        break;
      }
    }
    if (offset > std::numeric_limits<std::int64_t>::max() - b.size) fault(block(i) + " ends beyond 2^63");
  }

  void check_spans(std::size_t i) {
    const Block& b = blocks_[i];
    if (b.spans.empty()) return;
    bool fit = b.spans.front().lower == b.lower && b.spans.back().upper == b.upper;
    for (std::size_t k = 0; k < b.spans.size(); ++k) {
      fit = fit && b.spans[k].lower < b.spans[k].upper && (k == 0 || b.spans[k - 1].upper <= b.spans[k].lower);
    }
    if (!fit) fault(block(i) + " has spans that are not ascending and disjoint from its lower to its upper step");
  }

  void overlap(const Placed& a, const Placed& b) {
    fault(block(a.block) + " at [" + std::to_string(a.begin) + ", " + std::to_string(a.end) + ") and " +
          block(b.block) + " at [" + std::to_string(b.begin) + ", " + std::to_string(b.end) +
          ") share bytes while both are alive");
  }

  void check_together(std::int32_t arena) {
    std::vector<Placed> placed;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (takes_room(i) && arena_of(i) == arena && plan_.offsets[i] >= 0) {
        placed.push_back({i, plan_.offsets[i], plan_.offsets[i] + blocks_[i].size});
      }
    }
    if (options_.precedence != nullptr) {
      check_all_pairs(placed);
    } else {
      check_by_time(placed);
    }
  }

  void check_all_pairs(const std::vector<Placed>& placed) {
    for (std::size_t a = 0; a < placed.size(); ++a) {
      for (std::size_t b = a + 1; b < placed.size(); ++b) {
        if (placed[a].begin >= placed[b].end || placed[b].begin >= placed[a].end) continue;
        const bool apart = options_.precedence->precedes(placed[a].block, placed[b].block) ||
                           options_.precedence->precedes(placed[b].block, placed[a].block);
        if (!apart) overlap(placed[a], placed[b]);
      }
    }
  }

  // Goes through time with the live blocks by address. As long as those do not overlap each other, a newcomer that
  // overlaps any of them overlaps a neighbour; one that does is reported and left out.
  void check_by_time(const std::vector<Placed>& placed) {
    struct Event {
      std::int64_t step;
      bool starts;
      const Placed* what;
    };
    std::vector<Event> events;
    for (const Placed& p : placed) {
      if (blocks_[p.block].spans.empty()) {
        events.push_back({blocks_[p.block].lower, true, &p});
        events.push_back({blocks_[p.block].upper, false, &p});
      }
      for (const Span& span : blocks_[p.block].spans) {
        events.push_back({span.lower, true, &p});
        events.push_back({span.upper, false, &p});
      }
    }
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.step != b.step ? a.step < b.step : !a.starts && b.starts;
    });
    std::map<std::int64_t, const Placed*> live;
    for (const Event& event : events) {
      const Placed& p = *event.what;
      if (!event.starts) {
        const auto it = live.find(p.begin);
        if (it != live.end() && it->second == event.what) live.erase(it);
        continue;
      }
      const auto above = live.lower_bound(p.begin);
      if (above != live.end() && above->first < p.end) {
        overlap(*above->second, p);
      } else if (above != live.begin() && std::prev(above)->second->end > p.begin) {
        overlap(*std::prev(above)->second, p);
      } else {
        live.emplace(p.begin, event.what);
      }
    }
  }

  void check_heights() {
    std::vector<std::int64_t> reached(std::max<std::size_t>(plan_.arena_heights.size(), 1), 0);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (!takes_room(i) || plan_.offsets[i] < 0) continue;
      const auto arena = static_cast<std::size_t>(arena_of(i));
      if (arena < reached.size()) reached[arena] = std::max(reached[arena], plan_.offsets[i] + blocks_[i].size);
    }
    std::int64_t total = 0;
    for (std::size_t a = 0; a < reached.size(); ++a) {
      total += reached[a];
      const std::int64_t stated = a < plan_.arena_heights.size() ? plan_.arena_heights[a] : 0;
      if (stated != reached[a]) {
        fault("arena " + std::to_string(a) + " is said to have " + std::to_string(stated) +
              " bytes, but its blocks reach to " + std::to_string(reached[a]));
      }
      if (options_.arena_limit && reached[a] > *options_.arena_limit) {
        fault("arena " + std::to_string(a) + " has " + std::to_string(reached[a]) + " bytes; the limit is " +
              std::to_string(*options_.arena_limit));
      }
    }
    if (plan_.height != total) {
      fault("the height is said to be " + std::to_string(plan_.height) + ", but it is " + std::to_string(total));
    }
    if (options_.capacity && total > *options_.capacity) {
      fault("the height " + std::to_string(total) + " is over the capacity " + std::to_string(*options_.capacity));
    }
    if (total < plan_.bound) {
      fault("the height " + std::to_string(total) + " is below the bound " + std::to_string(plan_.bound) +
            ", so the bound is wrong");
    }
    if (plan_.proven_optimal && plan_.bound != total) {
      fault("the plan claims to be optimal at " + std::to_string(total) + " with a bound of " +
            std::to_string(plan_.bound));
    }
  }

  std::span<const Block> blocks_;
  const MemoryPlan& plan_;
  const PlanOptions& options_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> check_memory_plan(std::span<const Block> blocks, const MemoryPlan& plan,
                                           const PlanOptions& options) {
  return Judge(blocks, plan, options).faults();
}

}  // namespace TYTO_API
