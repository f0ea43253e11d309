// SPDX-License-Identifier: MIT
// Rounds of growing length over a portfolio of searches, and the choice of capacities to try.
#include "optimiser/memory/portfolio.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <thread>
#include <utility>

#include "optimiser/memory/fit.hpp"
#include "optimiser/memory/orders.hpp"

namespace tyto::memory {
namespace {

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

struct PortfolioEntry {
  Order order;
  FitSearch::SearchOptions options;
};

// Ordered by how often they were the first to answer on the instances of docs/performance/memory.md and on perfect
// packings.
constexpr std::array entries{
    PortfolioEntry{Order::lifetime_area, {.heaviest_first = true, .most_in_tight_section = 1}},
    PortfolioEntry{Order::death, {.heaviest_first = false, .most_in_tight_section = any_number}},
    PortfolioEntry{Order::lifetime_area, {.heaviest_first = false, .most_in_tight_section = 1}},
    PortfolioEntry{Order::area_lifetime, {.heaviest_first = true, .most_in_tight_section = any_number}},
    PortfolioEntry{Order::death, {.heaviest_first = false, .most_in_tight_section = 1}},
    PortfolioEntry{Order::area_lifetime, {.heaviest_first = true, .most_in_tight_section = 0}},
    PortfolioEntry{Order::area, {.heaviest_first = false, .most_in_tight_section = any_number}},
    PortfolioEntry{Order::breadth, {.heaviest_first = false, .most_in_tight_section = 2}},
};

// Run times are heavy-tailed in the order, so that fresh orders near a good one are worth as much as patience. How far
// each style's order is shaken: the share of all places by which a block may move.
constexpr double shaking = 0.4;
constexpr std::array shaken_entries{
    PortfolioEntry{Order::area, {.heaviest_first = false, .most_in_tight_section = any_number}},
    PortfolioEntry{Order::area_lifetime, {.heaviest_first = true, .most_in_tight_section = 1}},
    PortfolioEntry{Order::lifetime_area, {.heaviest_first = true, .most_in_tight_section = 1}},
    PortfolioEntry{Order::area_lifetime, {.heaviest_first = false, .most_in_tight_section = any_number}},
    PortfolioEntry{Order::lifetime_area, {.heaviest_first = false, .most_in_tight_section = any_number}},
    PortfolioEntry{Order::area, {.heaviest_first = true, .most_in_tight_section = any_number}},
};

std::vector<Index> shaken(std::vector<Index> order, RandomBits& random) {
  std::vector<std::pair<double, Index>> keys;
  keys.reserve(order.size());
  const double reach = shaking * static_cast<double>(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    keys.emplace_back(static_cast<double>(k) + reach * random.unit(), order[k]);
  std::sort(keys.begin(), keys.end());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = keys[k].second;
  return order;
}

// A node touches some dozens of blocks and sections.
constexpr std::int64_t work_per_node = 3000;

}  // namespace

Portfolio::Portfolio(const Problem& problem, Bytes capacity, const Effort& effort)
    : problem_(problem), capacity_(capacity), effort_(effort) {
  for (const PortfolioEntry& entry : entries) {
    auto member = std::make_unique<Member>();
    member->search = FitSearch::start(problem, arrange(problem, entry.order), capacity, entry.options);
    members_.push_back(std::move(member));
  }
  lasting_ = members_.size();
}

void Portfolio::reshuffle() {
  members_.resize(lasting_);
  RandomBits random(effort_.seed + core::splitmix_step * (static_cast<std::uint64_t>(capacity_) + ++runs_));
  for (const PortfolioEntry& entry : shaken_entries) {
    auto member = std::make_unique<Member>();
    member->search =
        FitSearch::start(problem_, shaken(arrange(problem_, entry.order), random), capacity_, entry.options);
    members_.push_back(std::move(member));
  }
}

FitSearch::Outcome Portfolio::run(std::int64_t nodes) {
  if (runs_ > 0 || lasting_ < members_.size()) reshuffle();
  else ++runs_;
  for (const auto& member : members_) member->nodes_before = member->search->nodes();
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> helpers;
  const auto threads = std::min(static_cast<std::size_t>(std::max(effort_.threads, 1)), members_.size());
  for (std::size_t t = 1; t < threads; ++t) helpers.emplace_back([&] { work_through(next, nodes); });
  work_through(next, nodes);
  for (std::thread& helper : helpers) helper.join();
  nodes_of_run_ = 0;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    nodes_of_run_ += members_[m]->search->nodes() - members_[m]->nodes_before;
    if (members_[m]->outcome == FitSearch::Outcome::paused) continue;
    winner_ = m;
    return members_[m]->outcome;
  }
  return FitSearch::Outcome::paused;
}

void Portfolio::work_through(std::atomic<std::size_t>& next, std::int64_t nodes) {
  for (std::size_t m = next++; m < members_.size(); m = next++) run_member(m, nodes);
}

void Portfolio::run_member(std::size_t m, std::int64_t nodes) {
  constexpr std::int64_t slice = 1024;
  Member& member = *members_[m];
  for (std::int64_t done = 0; done < nodes && !member.stop && !effort_.late(); done += slice) {
    member.outcome = member.search->run(std::min(slice, nodes - done), member.stop);
    if (member.outcome == FitSearch::Outcome::paused) continue;
    // Later searches cannot win any more; with a deadline none needs to go on.
    for (std::size_t other = effort_.deadline ? 0 : m + 1; other < members_.size(); ++other)
      members_[other]->stop = true;
    return;
  }
}

Placement Portfolio::placement() const {
  Placement placement;
  placement.offsets = members_[winner_]->search->offsets();
  placement.height = height_of(problem_, placement.offsets);
  return placement;
}

// At the bound itself a capacity prunes best and is often attainable; a fifth above it nearly every search succeeds at
// once; right below the best plan is where a proof of optimality ends. So every round spends its nodes half way up, at
// the bound, half way up again, and one step below the best plan. A portfolio goes on where it stopped for as long as
// the capacity stays the same.
Placement search_between(const Problem& p, const Effort& effort, Placement best, std::int64_t work) {
  enum Level : std::size_t { half_way, at_bound, below_best };
  constexpr std::array round{half_way, at_bound, half_way, below_best};
  std::array<std::unique_ptr<Portfolio>, 3> portfolios;
  std::int64_t spent = 0;
  const auto low = [&] { return std::max({p.bound, best.proven_bound, effort.enough}); };
  const auto done = [&] { return best.height <= low() || spent >= work || effort.late(); };
  for (std::int64_t nodes = 2 * p.count() + 64; !done(); nodes *= 2) {
    for (const Level level : round) {
      if (done()) return best;
      const Bytes half = low() + (best.height - low()) / 2;
      const Bytes capacity = level == half_way ? half : level == at_bound ? low() : best.height - 1;
      if (level != at_bound && capacity == low()) continue;
      std::unique_ptr<Portfolio>& portfolio = portfolios[level];
      if (portfolio == nullptr || portfolio->capacity() != capacity) {
        // Every search has its own copy of the neighbour lists; for huge instances that alone is the budget.
        const auto copies = static_cast<std::int64_t>(entries.size() * (p.neighbour.size() + p.size.size()));
        if (spent + copies > work) return best;
        spent += copies;
        portfolio = std::make_unique<Portfolio>(p, capacity, effort);
      }
      const FitSearch::Outcome outcome = portfolio->run(nodes);
      spent += portfolio->nodes_of_run() * work_per_node;
      if (outcome == FitSearch::Outcome::found) {
        Placement found = squeeze(p, portfolio->placement());
        best.offsets = std::move(found.offsets);
        best.height = found.height;
      } else if (outcome == FitSearch::Outcome::infeasible) {
        best.proven_bound = capacity + 1;
      }
    }
  }
  return best;
}

}  // namespace tyto::memory
