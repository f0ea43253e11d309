// SPDX-License-Identifier: MIT
// Local search at the peak: every step lowers either the peak or the number of steps at it.
#include "optimiser/schedule/improve.hpp"

#include <algorithm>

#include "optimiser/schedule/window.hpp"

namespace tyto::schedule {

namespace {

/// How good an order is: its peak, then how many tasks run at it.
struct Quality {
  std::int64_t peak = 0;
  std::size_t tasks_at_peak = 0;
  std::size_t first = 0;  // position of the first of them

  bool better_than(const Quality& other) const {
    return peak != other.peak ? peak < other.peak : tasks_at_peak < other.tasks_at_peak;
  }
};

class Improver {
 public:
  Improver(const Problem& problem, Order order, std::int64_t enough, std::int64_t work)
      : problem_(problem), order_(std::move(order)), enough_(enough), work_(work) {
    quality_ = measure(order_);
  }

  Order run() {
    while (work_ > 0 && quality_.peak > enough_) {
      if (!window_round_peak() && !move_one()) break;
    }
    return std::move(order_);
  }

 private:
  Quality measure(const Order& order) {
    work_ -= static_cast<std::int64_t>(order.size());
    Simulation simulation(problem_);
    Quality quality;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t during = simulation.run(order[i]);
      if (during > quality.peak) quality = {during, 0, i};
      if (during == quality.peak) ++quality.tasks_at_peak;
    }
    return quality;
  }

  bool accept(Order candidate) {
    const Quality quality = measure(candidate);
    if (!quality.better_than(quality_)) return false;
    order_ = std::move(candidate);
    quality_ = quality;
    return true;
  }

  // The best order of a stretch with the first task at the peak in it, in narrow and wide windows.
  bool window_round_peak() {
    for (const std::size_t width : {8U, 16U, 32U, 64U}) {
      for (const std::size_t lead : {width / 2, width - 1, std::size_t{0}}) {
        if (work_ <= 0) return false;
        const std::size_t first = quality_.first > lead ? quality_.first - lead : 0;
        const std::size_t last = std::min(first + width, order_.size());
        if (reorder(first, last)) return true;
        if (first == 0 && last == order_.size()) return false;
      }
    }
    return false;
  }

  bool reorder(std::size_t first, std::size_t last) {
    Simulation simulation(problem_);
    for (std::size_t i = 0; i < first; ++i) simulation.run(order_[i]);
    Simulation after = simulation;
    for (std::size_t i = first; i < last; ++i) after.run(order_[i]);
    WindowEffort effort{.states = 4000};
    const std::span<const Task> window(order_.data() + first, last - first);
    const std::optional<Order> better = best_window(problem_, simulation, window, quality_.peak, after.live(), effort);
    work_ -= static_cast<std::int64_t>(last + effort.visited);
    if (!better) return false;
    Order candidate = order_;
    std::copy(better->begin(), better->end(), candidate.begin() + static_cast<std::ptrdiff_t>(first));
    return accept(std::move(candidate));
  }

  // A storage that is alive at the peak without being used there: its maker is put off until its first consumer, or its
  // last consumers are brought forward.
  bool move_one() {
    position_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
    const std::size_t peak = quality_.first;
    std::vector<std::pair<std::int64_t, std::uint32_t>> idle;  // bytes, storage
    Simulation simulation(problem_);
    for (std::size_t i = 0; i < peak; ++i) simulation.run(order_[i]);
    work_ -= static_cast<std::int64_t>(peak);
    for (std::uint32_t storage = 0; storage < problem_.storages(); ++storage) {
      if (simulation.room(storage) != 0) idle.emplace_back(simulation.room(storage), storage);
    }
    const std::size_t tried = std::min<std::size_t>(idle.size(), 64);
    std::partial_sort(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(tried), idle.end(), std::greater<>());
    idle.resize(tried);
    for (const auto& [bytes, storage] : idle) {
      if (work_ <= 0) return false;
      if (put_off(problem_.maker[storage], peak) || bring_forward(storage, peak)) return true;
    }
    return false;
  }

  // Right before the first task that needs it, when that comes after the peak.
  bool put_off(Task task, std::size_t peak) {
    std::size_t first_reader = order_.size();
    for (const Task consumer : problem_.after[task]) first_reader = std::min(first_reader, position_[consumer]);
    if (first_reader <= peak) return false;
    Order candidate = order_;
    const auto begin = candidate.begin();
    const auto from = static_cast<std::ptrdiff_t>(position_[task]);
    std::rotate(begin + from, begin + from + 1, begin + static_cast<std::ptrdiff_t>(first_reader));
    return accept(std::move(candidate));
  }

  // The consumers that come after the peak, as far as what they need is done before it.
  bool bring_forward(std::uint32_t storage, std::size_t peak) {
    Order candidate = order_;
    std::ptrdiff_t target = static_cast<std::ptrdiff_t>(peak);
    bool moved = false;
    std::vector<Task> consumers(problem_.consumers_of[storage].begin(), problem_.consumers_of[storage].end());
    if (consumers.size() > 8) return false;
    std::sort(consumers.begin(), consumers.end(), [&](Task a, Task b) { return position_[a] < position_[b]; });
    for (const Task consumer : consumers) {
      if (position_[consumer] <= peak) continue;
      for (const Task needed : problem_.before[consumer]) {
        const auto place = std::find(candidate.begin(), candidate.begin() + target, needed);
        if (place == candidate.begin() + target) return false;
      }
      const auto from = std::find(candidate.begin() + target, candidate.end(), consumer);
      std::rotate(candidate.begin() + target, from, from + 1);
      ++target;
      moved = true;
    }
    return moved && accept(std::move(candidate));
  }

  const Problem& problem_;
  Order order_;
  std::int64_t enough_;
  std::int64_t work_;
  Quality quality_;
  std::vector<std::size_t> position_;
};

}  // namespace

Order improve(const Problem& problem, Order order, std::int64_t enough, std::int64_t work) {
  return Improver(problem, std::move(order), enough, work).run();
}

}  // namespace tyto::schedule
