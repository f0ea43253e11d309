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
      if (!window_round_peak()) break;
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

  const Problem& problem_;
  Order order_;
  std::int64_t enough_;
  std::int64_t work_;
  Quality quality_;
};

}  // namespace

Order improve(const Problem& problem, Order order, std::int64_t enough, std::int64_t work) {
  return Improver(problem, std::move(order), enough, work).run();
}

}  // namespace tyto::schedule
