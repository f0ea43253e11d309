// SPDX-License-Identifier: MIT
// best: a ladder of strategies; each starts from the plan so far and ends as soon as the bound is met.
#include <algorithm>
#include <utility>

#include "optimiser/memory/plan.hpp"
#include "optimiser/memory/portfolio.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

// Work is counted in about nanoseconds.
constexpr std::int64_t ladder_work = 60'000'000;
// Greedy plans beyond the first are only worth their time while they cost less than this.
constexpr std::int64_t most_greedy_work = 600'000'000;
// Work for an entry of the neighbour lists: to make the lists, and to place every block once.
constexpr std::int64_t work_to_list = 20;
constexpr std::int64_t work_to_place = 16;
// The same where the lists do not fit into caches.
constexpr std::int64_t work_to_place_far = 64;
constexpr std::size_t far = std::size_t{1} << 18;
// Problems in which one dive of the exact search costs more are not searched.
constexpr std::int64_t longest_dive = 2'400'000'000;
// Without a time limit, gains below 1/worth_searching of the bound are not searched for.
constexpr Bytes worth_searching = 2000;

void keep_lower(Placement& best, Placement candidate, std::string_view how) {
  if (candidate.height >= best.height) return;
  candidate.remark = how;
  best = std::move(candidate);
}

// A search goes down once without turning back at the very least, and looks at every section at every step.
std::int64_t work_of_one_dive(const Problem& p) {
  std::int64_t places = 0;
  for (std::size_t i = 0; i < p.size.size(); ++i) places += p.last[i] - p.first[i];
  return places * p.count();
}

Placement best_part(const Problem& p, const Effort& whole) {
  Placement placement = best_sweep(p, whole);
  if (placement.height <= whole.enough || whole.late()) return placement;
  const Effort effort = whole.worth_of(placement.height - whole.enough);
  const std::int64_t work = effort.work_or(ladder_work);
  const bool named = effort.work > 0 || effort.deadline;
  // With a given work limit lists must not cost more than that; by default they must not take seconds.
  const std::int64_t left = most_greedy_work - work_to_sweep * static_cast<std::int64_t>(p.size.size());
  const std::int64_t most_pairs = effort.work > 0   ? effort.work / (2 * work_to_list)
                                  : effort.deadline ? most_listed_pairs
                                                    : left / (2 * (work_to_list + work_to_place_far));
  const Problem listed = with_neighbours(p, std::clamp<std::int64_t>(most_pairs, 0, most_listed_pairs));
  if (!listed.listed && p.has_holes()) {
    // Too many pairs to list: what sweeps over time takes a block for alive in its holes.
    placement = best_part(hull_of(p), effort);
    placement.proven_bound = 0;
    return placement;
  }
  if (!listed.listed) {
    return placement.offsets.empty() ? linear_scan(p, effort) : placement;
  }
  Effort content = effort;
  if (!effort.deadline) content.enough += effort.enough / worth_searching;
  // Under a deadline two thirds of the time are left to the search, which gains more than a twentieth greedy order.
  if (effort.deadline) content.deadline = Clock::now() + (*effort.deadline - Clock::now()) / 3;
  placement = best_greedy(listed, content, std::move(placement));
  const std::int64_t longest = effort.work > 0 ? work / 2 : named ? INT64_MAX : longest_dive;
  if (placement.height <= content.enough || work_of_one_dive(listed) > longest) return placement;

  // A first look with searches: at the bound and half way up they often answer within milliseconds.
  Effort look = effort;
  if (effort.deadline) look.deadline = Clock::now() + (*effort.deadline - Clock::now()) / 2;
  const Bytes before_search = placement.height;
  placement = search_between(listed, look, std::move(placement), work / 2);
  if (placement.height < before_search) placement.remark = "search";
  if (placement.height <= std::max({p.bound, placement.proven_bound, effort.enough})) return placement;

  Effort rest = effort;
  rest.work = effort.deadline ? 0 : work / 2;
  Placement annealed = anneal(listed, rest);
  annealed.proven_bound = placement.proven_bound;
  keep_lower(placement, std::move(annealed), "anneal");
  return placement;
}

}  // namespace

Placement best_sweep(const Problem& p, const Effort& effort) {
  Placement best;
  if (!p.sweepable()) return best;
  keep_lower(best, middle_out(p, effort), "middle_out");
  if (best.height > effort.enough) keep_lower(best, linear_scan(p, effort), "linear_scan");
  return best;
}

Placement best_greedy(const Problem& p, const Effort& effort, Placement best) {
  if (best.offsets.empty()) keep_lower(best, linear_scan(p, effort), "linear_scan");
  // Sweeps over the hulls cost little, and pushing together makes use of the holes afterwards.
  if (p.has_holes() && best.height > effort.enough) {
    Placement swept = best_sweep(hull_of(p), effort);
    const std::string how = swept.remark + " of hulls";
    if (!swept.offsets.empty()) keep_lower(best, std::move(swept), how);
  }
  const std::int64_t most_work = effort.work > 0 ? std::min(effort.work, most_greedy_work) : most_greedy_work;
  std::int64_t spent = 0;
  const std::size_t entries = p.neighbour.size() + p.size.size();
  const std::int64_t each =
      (effort.work == 0 && entries > far ? work_to_place_far : work_to_place) * static_cast<std::int64_t>(entries);
  // After the sweeps often a single block lies too high, and squeezing lowers it.
  if (best.height > effort.enough && 4 * each <= most_work) {
    const std::string how = best.remark + ", squeezed";
    keep_lower(best, squeeze(p, best), how);
    spent += 4 * each;
  }
  for (const Order order : {Order::load_area, Order::breadth, Order::size, Order::area}) {
    if (best.height <= effort.enough || spent > most_work || effort.late()) return best;
    spent += each;
    keep_lower(best, lowest_first(p, arrange(p, order), best.height), "lowest first, " + std::string(name(order)));
  }
  for (const Order order : all_orders) {
    const std::vector<Index> arranged = arrange(p, order);
    for (const Fit fit : {Fit::best, Fit::first}) {
      if (best.height <= effort.enough || spent > most_work || effort.late()) return best;
      spent += each;
      keep_lower(best, place_in_order(p, arranged, fit, best.height),
                 std::string(name(order)) + (fit == Fit::best ? ", best fit" : ", first fit"));
    }
  }
  if (spent + 4 * each > 2 * most_work) return best;
  const std::string how = best.remark + ", squeezed";
  keep_lower(best, squeeze(p, best), how);
  return best;
}

Placement best(const Problem& p, const Effort& effort) { return by_parts(p, effort, best_part); }

}  // namespace tyto::memory
