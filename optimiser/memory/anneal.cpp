// SPDX-License-Identifier: MIT
// anneal: simulated annealing of placement orders; blocks rest on a skyline, moves aim at what holds the top up.
#include <algorithm>
#include <cmath>
#include <thread>

#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

// One unit of work is one section of one block laid on the skyline, about a nanosecond.
constexpr std::int64_t anneal_work = 400'000'000;
constexpr int chains = 2;

// Decodes an order: each block rests on the highest skyline of its sections. Every plan that cannot be pushed further
// down is the decoding of its own order of offsets, so nothing is lost by not filling gaps.
class Decoder {
 public:
  explicit Decoder(const Problem& problem)
      : p_(problem),
        by_sections_(problem.precedence == nullptr),
        skyline_(static_cast<std::size_t>(problem.sections)),
        offsets_(problem.size.size()) {
    for (std::size_t i = 0; i < problem.size.size(); ++i) {
      if (by_sections_) {
        problem.for_each_run(i, [&](Index first, Index last) { work_ += last - first + 8; });
      } else {
        work_ += static_cast<std::int64_t>(problem.neighbours(static_cast<Index>(i)).size()) + 8;
      }
    }
  }

  std::int64_t work_of_one() const { return work_; }
  const std::vector<Bytes>& offsets() const { return offsets_; }

  // Stops early, with a height above it, once `limit` is passed.
  Bytes height(const std::vector<Index>& order, Bytes limit) {
    std::fill(skyline_.begin(), skyline_.end(), 0);
    if (!by_sections_) std::fill(offsets_.begin(), offsets_.end(), -1);
    Bytes height = 0;
    for (const Index i : order) {
      const auto at = static_cast<std::size_t>(i);
      const Bytes offset = p_.align(by_sections_ ? ground(at) : support(i), i);
      const Bytes top = offset + p_.size[at];
      offsets_[at] = offset;
      if (by_sections_) {
        Bytes* sky = skyline_.data();
        p_.for_each_run(at, [&](Index first, Index last) { std::fill(sky + first, sky + last, top); });
      }
      height = std::max(height, top);
      if (height > limit) return height;
    }
    return height;
  }

 private:
  Bytes ground(std::size_t at) const {
    const Bytes* sky = skyline_.data();
    Bytes ground = 0;
    p_.for_each_run(at, [&](Index first, Index last) {
      for (Index k = first; k < last; ++k) ground = std::max(ground, sky[k]);
    });
    return ground;
  }
  Bytes support(Index i) const {
    Bytes support = 0;
    for (const Index j : p_.neighbours(i)) {
      const Bytes offset = offsets_[static_cast<std::size_t>(j)];
      if (offset >= 0) support = std::max(support, offset + p_.size[static_cast<std::size_t>(j)]);
    }
    return support;
  }

  const Problem& p_;
  bool by_sections_;
  std::vector<Bytes> skyline_;
  std::vector<Bytes> offsets_;
  std::int64_t work_ = 0;
};

class AnnealingChain {
 public:
  AnnealingChain(const Problem& problem, const Effort& effort, std::int64_t work, std::uint64_t seed,
                 const Placement& start)
      : p_(problem), effort_(effort), random_(seed), decoder_(problem), work_(work), best_(start) {}

  Placement run() {
    std::vector<Index> order = order_of_offsets(p_, best_.offsets);
    const std::int64_t moves = std::max<std::int64_t>(1, work_ / decoder_.work_of_one());
    const Bytes unlimited = std::numeric_limits<Bytes>::max();
    Bytes height = decoder_.height(order, unlimited);
    keep_if_better(height);
    std::vector<Index> chain = critical_chain(height);
    const double hot = 0.03 * static_cast<double>(best_.height);
    const auto started = Clock::now();
    double temperature = hot;
    for (std::int64_t move = 0; move < moves && best_.height > effort_.enough; ++move) {
      if (move % 64 == 0) {
        double done = static_cast<double>(move) / static_cast<double>(moves);
        if (effort_.deadline) {
          const auto now = Clock::now();
          if (now >= *effort_.deadline) break;
          done =
              std::chrono::duration<double>(now - started) / std::chrono::duration<double>(*effort_.deadline - started);
        }
        temperature = hot * std::pow(0.002, done);
      }
      const std::vector<Index> before = order;
      change(order, chain);
      // The acceptance threshold is drawn first, so that decoding can stop as soon as the move is lost.
      const Bytes limit = height + static_cast<Bytes>(-temperature * std::log(1.0 - random_.unit()));
      const Bytes reached = decoder_.height(order, limit);
      if (reached > limit) {
        order = before;
        continue;
      }
      height = reached;
      keep_if_better(height);
      chain = critical_chain(height);
    }
    return best_;
  }

 private:
  void keep_if_better(Bytes height) {
    if (height >= best_.height) return;
    best_.height = height;
    best_.offsets = decoder_.offsets();
  }

  // The block at the top, one that it rests on, and so down to the ground.
  std::vector<Index> critical_chain(Bytes height) const {
    const std::vector<Bytes>& offsets = decoder_.offsets();
    std::vector<Index> chain;
    for (Index i = 0; i < p_.count(); ++i) {
      if (offsets[static_cast<std::size_t>(i)] + p_.size[static_cast<std::size_t>(i)] != height) continue;
      chain.push_back(i);
      break;
    }
    while (!chain.empty() && offsets[static_cast<std::size_t>(chain.back())] > 0) {
      const Index above = chain.back();
      const Bytes ground = offsets[static_cast<std::size_t>(above)];
      Index below = -1;
      Bytes highest = -1;
      p_.for_each_neighbour(above, [&](Index j) {
        const Bytes top = offsets[static_cast<std::size_t>(j)] + p_.size[static_cast<std::size_t>(j)];
        if (top <= ground && top > highest) {
          highest = top;
          below = j;
        }
      });
      if (below < 0) break;
      chain.push_back(below);
    }
    return chain;
  }

  // Takes one block out and puts it back anywhere, or swaps two; half of the time it is one of the critical chain.
  void change(std::vector<Index>& order, const std::vector<Index>& chain) {
    const std::size_t n = order.size();
    std::size_t from = random_.below(n);
    if (!chain.empty() && (random_.next() & 1) != 0) {
      const Index target = chain[random_.below(chain.size())];
      from = static_cast<std::size_t>(std::find(order.begin(), order.end(), target) - order.begin());
    }
    std::size_t to = random_.below(n);
    if ((random_.next() & 3) != 0) {
      // Mostly nearby: far moves are nearly always refused once the plan is good.
      const std::size_t reach = 1 + n / 8;
      const std::size_t low = from > reach ? from - reach : 0;
      const std::size_t high = std::min(n, from + reach + 1);
      to = low + random_.below(high - low);
    }
    if ((random_.next() & 1) != 0) {
      std::swap(order[from], order[to]);
    } else if (from < to) {
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(from),
                  order.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                  order.begin() + static_cast<std::ptrdiff_t>(to) + 1);
    } else {
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to), order.begin() + static_cast<std::ptrdiff_t>(from),
                  order.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    }
  }

  const Problem& p_;
  const Effort& effort_;
  RandomBits random_;
  Decoder decoder_;
  std::int64_t work_;
  Placement best_;
};

Placement anneal_part(const Problem& p, const Effort& effort) {
  Placement start = squeeze(p, place_in_order(p, arrange(p, Order::size), Fit::first));
  if (start.height <= effort.enough || p.any_fixed || p.count() < 2) return start;
  // A fixed number of chains, whatever the number of threads: the plan depends on the seed alone.
  std::vector<Placement> results(chains, start);
  const std::int64_t work = effort.work_or(anneal_work) / chains;
  const auto run = [&](int chain) {
    const std::uint64_t seed = effort.seed * 0x2545f4914f6cdd1dULL + static_cast<std::uint64_t>(chain);
    results[static_cast<std::size_t>(chain)] = AnnealingChain(p, effort, work, seed, start).run();
  };
  if (effort.threads > 1) {
    std::thread other(run, 1);
    run(0);
    other.join();
  } else {
    Effort first_half = effort;
    if (effort.deadline) first_half.deadline = Clock::now() + (*effort.deadline - Clock::now()) / chains;
    const std::uint64_t seed = effort.seed * 0x2545f4914f6cdd1dULL;
    results[0] = AnnealingChain(p, first_half, work, seed, start).run();
    if (results[0].height > effort.enough) run(1);
  }
  // The first chain wins when it is good enough, since a single thread would not have started the second.
  const bool second = results[0].height > effort.enough && results[1].height < results[0].height;
  Placement& winner = results[second ? 1 : 0];
  return squeeze(p, std::move(winner));
}

}  // namespace

// Blocks that are fixed would need gaps below them to be filled, which a skyline does not do: there the greedy start is
// returned as it is.
Placement anneal(const Problem& p, const Effort& effort) { return by_parts(p, effort, anneal_part); }

}  // namespace tyto::memory
