// SPDX-License-Identifier: MIT
// Analyses what one order keeps alive at its peak, and ways to keep less.
#include "optimiser/recompute/peak_analysis.hpp"

#include <algorithm>
#include <numeric>

#include "core/graph/op_ids.hpp"
#include "optimiser/schedule/schedule.hpp"

namespace tyto::recompute {

using schedule::nothing;
using schedule::Task;

PeakAnalysis::PeakAnalysis(const core::Graph& graph, const std::string& order)
    : graph_(graph), storages_(graph), problem_(schedule::make_problem(graph, storages_)) {
  order_ = choose_order(problem_, {.strategy = order, .worth_changing = 0}).order;
  const schedule::Footprint worst = footprint(problem_, order_);
  peak_ = worst.peak;
  boundary_ = worst.at;
  position_.resize(problem_.tasks());
  for (std::size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  find_idle();
}

std::vector<bool> PeakAnalysis::ends_of_segments(std::int64_t bytes) const {
  std::vector<bool> keep(problem_.storages(), false);
  if (bytes == 0) return keep;
  std::vector<std::int64_t> made(boundary_ + 1, 0);
  for (const std::uint32_t storage : idle_) made[position_[problem_.maker[storage]]] += problem_.bytes[storage];
  std::size_t begin = 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i <= boundary_; ++i) {
    sum += made[i];
    if (sum < bytes) continue;
    // Cut where the fewest bytes go on, in the later half of the segment.
    std::size_t cut = i;
    for (std::size_t j = i; j > begin + (i - begin) / 2; --j) {
      if (crossing_[j] < crossing_[cut]) cut = j;
    }
    for (std::uint32_t storage = 0; storage < problem_.storages(); ++storage) {
      if (crosses(storage, cut)) keep[storage] = true;
    }
    sum = 0;
    for (std::size_t j = cut + 1; j <= i; ++j) sum += made[j];
    begin = cut + 1;
  }
  return keep;
}

core::Graph PeakAnalysis::with_kept(const std::vector<bool>& keep, std::size_t count) const {
  Choice choice = everything_kept();
  std::size_t kept = 0;
  for (const std::uint32_t storage : idle_) {
    choice.keep[storage] = keep[storage] || kept < count;
    if (!keep[storage]) ++kept;
  }
  // A value whose lifetime ends before the worst step is recomputed where a repeated node needs it.
  for (std::uint32_t storage = 0; storage < problem_.storages(); ++storage) {
    if (over_before_[storage]) choice.keep[storage] = keep[storage];
  }
  return rewrite(graph_, storages_, problem_, order_, choice);
}

std::int64_t PeakAnalysis::idle_bytes() const {
  std::int64_t sum = 0;
  for (const std::uint32_t storage : idle_) sum += problem_.bytes[storage];
  return sum;
}

RecomputeChain PeakAnalysis::chain() const {
  RecomputeChain chain(ends_.size(), levels);
  for (std::size_t end = 1; end <= ends_.size(); ++end) {
    for (std::size_t level = 0; level < levels; ++level) weigh_segments(chain, end, level);
  }
  return chain;
}

std::vector<bool> PeakAnalysis::kept_by(const std::vector<Cut>& cuts) const {
  std::vector<bool> keep(problem_.storages(), false);
  std::size_t position = 0;
  for (const Cut& cut : cuts) {
    const std::size_t end = ends_[cut.end - 1];
    for (; position <= end; ++position) {
      for (const std::uint32_t storage : problem_.makes[order_[position]]) {
        keep[storage] = crosses(storage, end) || quarter_[storage] < cut.level;
      }
    }
  }
  return keep;
}

bool PeakAnalysis::must_stay(std::uint32_t storage) const {
  const core::GraphNode& node = graph_.nodes()[problem_.node[problem_.maker[storage]]];
  // A loop or branch is not repeated as a whole.
  return core::calls_user_function(node) || node.op == core::OpId::loop || node.op == core::OpId::branch ||
         core::has_effect(node);
}

void PeakAnalysis::find_idle() {
  over_before_.assign(problem_.storages(), false);
  last_early_consumer_.assign(problem_.storages(), 0);
  crossing_.assign(boundary_ + 2, 0);
  std::vector<double> worth(problem_.storages(), 0);
  for (std::uint32_t storage = 0; storage < problem_.storages(); ++storage) {
    const Task maker = problem_.maker[storage];
    if (maker == nothing || position_[maker] > boundary_) continue;
    bool read_late = false;
    std::size_t last = position_[maker];
    for (const Task consumer : problem_.consumers_of[storage]) {
      if (position_[consumer] > boundary_) {
        read_late = true;
      } else {
        last = std::max(last, position_[consumer]);
      }
    }
    last_early_consumer_[storage] = last;
    crossing_[position_[maker]] += problem_.bytes[storage];
    crossing_[last] -= problem_.bytes[storage];
    const bool read_at_end = problem_.consumers[storage] > problem_.consumers_of[storage].size();
    if (read_at_end || must_stay(storage) || problem_.update_target[storage] != nothing) continue;
    // Read by the worst step itself: it has to be there.
    if (last == boundary_ && !read_late) continue;
    if (!read_late) {
      over_before_[storage] = true;
      continue;
    }
    idle_.push_back(storage);
    worth[storage] = cost(graph_, graph_.nodes()[problem_.node[maker]]) /
                     static_cast<double>(std::max<std::int64_t>(problem_.bytes[storage], 1));
  }
  std::partial_sum(crossing_.begin(), crossing_.end(), crossing_.begin());
  std::stable_sort(idle_.begin(), idle_.end(), [&](std::uint32_t a, std::uint32_t b) { return worth[a] > worth[b]; });
  const std::int64_t all = std::max<std::int64_t>(idle_bytes(), 1);
  quarter_.assign(problem_.storages(), levels);
  std::int64_t dearer = 0;
  for (const std::uint32_t storage : idle_) {
    quarter_[storage] = static_cast<std::size_t>(dearer * static_cast<std::int64_t>(levels - 1) / all);
    dearer += problem_.bytes[storage];
  }
  find_ends();
  find_beside();
}

// Positions that nothing is cheaper to cut at than their neighbours, the cheapest of them, and the worst step.
void PeakAnalysis::find_ends() {
  constexpr std::size_t most = 96;
  for (std::size_t i = 0; i < boundary_; ++i) {
    const bool falls = i == 0 || crossing_[i] < crossing_[i - 1];
    if (falls && crossing_[i] <= crossing_[i + 1]) ends_.push_back(i);
  }
  std::ranges::stable_sort(ends_, std::ranges::less(), [&](std::size_t end) { return crossing_[end]; });
  if (ends_.size() >= most) ends_.resize(most - 1);
  std::ranges::sort(ends_);
  ends_.push_back(boundary_);
}

// Finds the bytes alive from the worst step on besides the idle values.
void PeakAnalysis::find_beside() {
  last_late_.assign(problem_.storages(), 0);
  first_late_.assign(problem_.storages(), order_.size());
  std::vector<std::int64_t> idle(order_.size() + 1, 0);  // by position: bytes that end before it
  for (const std::uint32_t storage : idle_) {
    for (const Task consumer : problem_.consumers_of[storage]) {
      if (position_[consumer] <= boundary_) continue;
      last_late_[storage] = std::max(last_late_[storage], position_[consumer]);
      first_late_[storage] = std::min(first_late_[storage], position_[consumer]);
    }
    idle[last_late_[storage] + 1] += problem_.bytes[storage];
  }
  schedule::Simulation simulation(problem_);
  std::int64_t alive = idle_bytes();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::int64_t during = simulation.run(order_[i]);
    alive -= idle[i];
    if (i >= boundary_) beside_.push_back(std::max<std::int64_t>(during - alive, 0));
  }
}

// The segments that end with link `end`, longer and longer: what stays, what is made again, and for how long.
void PeakAnalysis::weigh_segments(RecomputeChain& chain, std::size_t end, std::size_t level) const {
  std::vector<bool> needed(problem_.storages(), false);
  Segment form;
  std::int64_t again = 0;    // bytes of idle values that are made again
  std::int64_t passing = 0;  // the largest value on the way to them
  std::int64_t around = 0;   // most bytes alive besides, over their turn
  std::size_t first = 0;     // their turn
  std::size_t last = 0;
  std::size_t link = end;
  const std::size_t cut = ends_[end - 1];
  for (std::size_t position = cut + 1; position-- > 0;) {
    const Task task = order_[position];
    bool repeated = false;
    for (const std::uint32_t storage : problem_.makes[task]) {
      const bool idle = quarter_[storage] < levels;
      if (!idle && !over_before_[storage]) continue;  // it stays in any case
      const std::int64_t bytes = problem_.bytes[storage];
      if (crosses(storage, cut) || quarter_[storage] < level) {
        form.stays += bytes;
        continue;
      }
      if (idle) {
        again += bytes;
        if (first == 0) {
          first = last = first_late_[storage];
          around = beside_[first - boundary_];
        }
        while (first > first_late_[storage]) around = std::max(around, beside_[--first - boundary_]);
        while (last < last_late_[storage]) around = std::max(around, beside_[++last - boundary_]);
      } else if (needed[storage]) {
        passing = std::max(passing, bytes);
      }
      repeated = repeated || idle || needed[storage];
    }
    if (repeated) {
      form.cost += cost(graph_, graph_.nodes()[problem_.node[task]]);
      for (const std::uint32_t storage : problem_.reads[task]) needed[storage] = true;
    }
    if (position != 0 && (link == 1 || position - 1 != ends_[link - 2])) continue;
    --link;
    form.turn = form.stays + again + passing + around;
    chain.at(link, end, level) = form;
  }
}

bool PeakAnalysis::crosses(std::uint32_t storage, std::size_t cut) const {
  const Task maker = problem_.maker[storage];
  return maker != nothing && position_[maker] <= cut && last_early_consumer_[storage] > cut;
}

}  // namespace tyto::recompute
