// SPDX-License-Identifier: MIT
// middle_out: the heaviest section is stacked first, then time runs away from it on both sides into the gaps that open.
//
// A block that is not alive in the heaviest section is over before it or begins after it, so the two sides have nothing
// to do with each other. In training the stack is what the forward pass left for the backward pass: the longer
// something has been there the longer it stays, gaps open from the top down, and what is born later finds room in one
// piece.
#include <algorithm>

#include "optimiser/memory/gaps.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// Which blocks of the heaviest section lie lowest.
enum class Stack : std::uint8_t { longest, last_to_die, first_born, largest };

/// One way from the heaviest section: who is born in which order, and when each is over.
struct Side {
  std::vector<Index> births;  // without those of the stack
  std::vector<Index> deaths;  // with them
  const std::vector<Index>* begin;
  const std::vector<Index>* end;
};

// Four sweeps over so many blocks take a quarter of a second, and the others gain one or two per cent.
constexpr Index many = 50'000;

class MiddleOut {
 public:
  MiddleOut(const Problem& problem, Index middle) : p_(problem), middle_(middle) {
    // Backwards a block begins where it ends.
    reversed_first_.resize(p_.first.size());
    reversed_last_.resize(p_.first.size());
    forwards_.begin = &p_.first;
    forwards_.end = &p_.last;
    backwards_.begin = &reversed_first_;
    backwards_.end = &reversed_last_;
    for (Index i = 0; i < p_.count(); ++i) {
      reversed_first_[at(i)] = p_.sections - p_.last[at(i)];
      reversed_last_[at(i)] = p_.sections - p_.first[at(i)];
      if (p_.last[at(i)] <= middle_) {
        backwards_.births.push_back(i);
        backwards_.deaths.push_back(i);
      } else if (p_.first[at(i)] > middle_) {
        forwards_.births.push_back(i);
        forwards_.deaths.push_back(i);
      } else {
        stack_.push_back(i);
      }
    }
    for (Side* side : {&forwards_, &backwards_}) {
      side->deaths.insert(side->deaths.end(), stack_.begin(), stack_.end());
      // Of those born together the largest chooses first.
      std::sort(side->births.begin(), side->births.end(), [&](Index a, Index b) {
        const Index first = (*side->begin)[at(a)];
        const Index second = (*side->begin)[at(b)];
        if (first != second) return first < second;
        return p_.padded[at(a)] != p_.padded[at(b)] ? p_.padded[at(a)] > p_.padded[at(b)] : a < b;
      });
      std::sort(side->deaths.begin(), side->deaths.end(), [&](Index a, Index b) {
        const Index first = (*side->end)[at(a)];
        const Index second = (*side->end)[at(b)];
        return first != second ? first < second : a < b;
      });
    }
  }

  /// The stack, then each side by distance from it.
  std::vector<Index> order() {
    order_stack(Stack::longest);
    std::vector<Index> order = stack_;
    for (const Side* side : {&forwards_, &backwards_})
      order.insert(order.end(), side->births.begin(), side->births.end());
    return order;
  }

  Placement run(Bytes enough) {
    Placement best;
    for (const Stack stack : {Stack::longest, Stack::last_to_die, Stack::first_born, Stack::largest}) {
      order_stack(stack);
      Placement placement;
      placement.offsets.assign(p_.size.size(), 0);
      placement.height = 0;
      for (const Side* side : {&forwards_, &backwards_}) {
        placement.height = std::max(placement.height, place(*side, enough, best.height, placement.offsets));
        if (placement.height >= best.height) break;
      }
      if (placement.height < best.height) best = std::move(placement);
      if (best.height <= enough || (p_.count() > many && stack == Stack::last_to_die)) break;
    }
    return best;
  }

 private:
  void order_stack(Stack how) {
    const auto key = [&](Index i) -> Bytes {
      switch (how) {
        case Stack::longest: return p_.last[at(i)] - p_.first[at(i)];
        case Stack::last_to_die: return p_.last[at(i)];
        case Stack::first_born: return -Bytes{p_.first[at(i)]};
        case Stack::largest: return p_.padded[at(i)];
      }
      return 0;
    };
    std::sort(stack_.begin(), stack_.end(), [&](Index a, Index b) {
      const Bytes first = key(a);
      const Bytes second = key(b);
      return first != second ? first > second : a < b;
    });
  }

  // The lower of best and first fit, into `offsets`.
  Bytes place(const Side& side, Bytes enough, Bytes give_up_at, std::vector<Bytes>& offsets) {
    const Bytes height = sweep(side, Fit::best, give_up_at, offsets);
    if (height <= enough) return height;
    second_try_ = offsets;
    const Bytes second = sweep(side, Fit::first, std::min(height, give_up_at), second_try_);
    if (second >= height) return height;
    std::swap(offsets, second_try_);
    return second;
  }

  Bytes sweep(const Side& side, Fit fit, Bytes give_up_at, std::vector<Bytes>& offsets) {
    Gaps gaps(p_.size.size(), fit == Fit::best);
    Bytes height = 0;
    for (const Index i : stack_) {
      offsets[at(i)] = gaps.take_lowest(p_.padded[at(i)]);
      height = std::max(height, offsets[at(i)] + p_.size[at(i)]);
    }
    std::size_t dead = 0;
    for (const Index i : side.births) {
      for (; dead < side.deaths.size() && (*side.end)[at(side.deaths[dead])] <= (*side.begin)[at(i)]; ++dead) {
        const Index gone = side.deaths[dead];
        gaps.give_back(offsets[at(gone)], p_.padded[at(gone)]);
      }
      const Bytes size = p_.padded[at(i)];
      offsets[at(i)] = fit == Fit::best ? gaps.take_smallest(size) : gaps.take_lowest(size);
      height = std::max(height, offsets[at(i)] + p_.size[at(i)]);
      if (height >= give_up_at) return height;
    }
    return height;
  }

  const Problem& p_;
  Index middle_;
  std::vector<Index> reversed_first_;
  std::vector<Index> reversed_last_;
  std::vector<Index> stack_;
  Side forwards_;
  Side backwards_;
  std::vector<Bytes> second_try_;
};

}  // namespace

Placement middle_out(const Problem& p, const Effort& effort) {
  const auto middle = static_cast<Index>(std::max_element(p.load.begin(), p.load.end()) - p.load.begin());
  // Where a sweep does not know which blocks conflict, a search for gaps takes the same order.
  if (!p.sweepable()) return place_in_order(with_neighbours(p), MiddleOut(p, middle).order(), Fit::best);
  return MiddleOut(p, middle).run(effort.enough);
}

}  // namespace tyto::memory
