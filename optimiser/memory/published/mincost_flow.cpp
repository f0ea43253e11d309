// SPDX-License-Identifier: MIT
// mincost_flow: whole objects as chains of blocks whose growth along the chain is least, solved as an assignment.
#include <algorithm>
#include <limits>

#include "core/value/text.hpp"
#include "optimiser/memory/published/objects.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

constexpr Index most_blocks = 4096;

// Every block either follows one earlier block in its object, paying what it needs beyond that one's size, or opens an
// object, paying its size. That flow has unit capacities, so it is an assignment of predecessors to blocks; rows are
// blocks, columns are predecessors, and each row has one private column for "a new object". Shortest augmenting paths
// with potentials; O(n^3) at worst.
class Predecessors {
 public:
  explicit Predecessors(const Problem& problem) : p_(problem), n_(problem.size.size()) {}

  std::vector<Index> solve() {
    follower_.assign(2 * n_, none);
    row_price_.assign(n_, 0);
    column_price_.assign(2 * n_, 0);
    for (std::size_t row = 0; row < n_; ++row) augment(row);
    std::vector<Index> predecessor(n_, none);
    for (std::size_t column = 0; column < n_; ++column) {
      if (follower_[column] != none)
        predecessor[static_cast<std::size_t>(follower_[column])] = static_cast<Index>(column);
    }
    return predecessor;
  }

  static constexpr Index none = -1;

 private:
  static constexpr Bytes never = std::numeric_limits<Bytes>::max() / 4;

  Bytes cost(std::size_t row, std::size_t column) const {
    if (column >= n_) return column - n_ == row ? p_.padded[row] : never;
    if (column == row || p_.fixed[column] != not_fixed || p_.fixed[row] != not_fixed) return never;
    if (p_.death[column] > p_.birth[row] || p_.conflicts(static_cast<Index>(column), static_cast<Index>(row)))
      return never;
    return std::max<Bytes>(0, p_.padded[row] - p_.padded[column]);
  }

  void augment(std::size_t start) {
    std::vector<Bytes> distance(2 * n_, never);
    std::vector<Index> through(2 * n_, none);  // the row from which a column was reached
    std::vector<char> done(2 * n_, 0);
    std::size_t row = start;
    Bytes base = 0;
    std::size_t last = 0;
    for (;;) {
      for (std::size_t column = 0; column <= n_; ++column)
        relax(row, column < n_ ? column : n_ + row, base, distance, through, done);
      Bytes nearest = never;
      for (std::size_t column = 0; column < 2 * n_; ++column) {
        if (done[column] == 0 && distance[column] < nearest) {
          nearest = distance[column];
          last = column;
        }
      }
      done[last] = 1;
      base = nearest;
      if (follower_[last] == none) break;
      row = static_cast<std::size_t>(follower_[last]);
    }
    row_price_[start] += base;
    for (std::size_t column = 0; column < 2 * n_; ++column) {
      if (done[column] == 0 || column == last) continue;
      row_price_[static_cast<std::size_t>(follower_[column])] += base - distance[column];
      column_price_[column] -= base - distance[column];
    }
    for (std::size_t column = last;;) {
      const auto reached_from = static_cast<std::size_t>(through[column]);
      follower_[column] = static_cast<Index>(reached_from);
      if (reached_from == start) break;
      std::size_t previous = 0;
      while (previous == column || follower_[previous] != static_cast<Index>(reached_from)) ++previous;
      column = previous;
    }
  }

  void relax(std::size_t row, std::size_t column, Bytes base, std::vector<Bytes>& distance, std::vector<Index>& through,
             const std::vector<char>& done) const {
    if (done[column] != 0) return;
    const Bytes price = cost(row, column);
    if (price == never) return;
    const Bytes reach = base + price - row_price_[row] - column_price_[column];
    if (reach < distance[column]) {
      distance[column] = reach;
      through[column] = static_cast<Index>(row);
    }
  }

  const Problem& p_;
  std::size_t n_;
  std::vector<Index> follower_;  // by column: the row that has it
  std::vector<Bytes> row_price_;
  std::vector<Bytes> column_price_;
};

}  // namespace

Placement mincost_flow(const Problem& p, const Effort&) {
  if (p.count() > most_blocks) {
    core::throw_error<ValueError>("plan_memory: mincost_flow takes at most ", most_blocks, " blocks, not ", p.count(),
                                  "; shared_objects is near linear");
  }
  const std::vector<Index> predecessor = Predecessors(p).solve();
  Objects objects(p);
  for (const Index i : arrange(p, Order::birth)) {
    const auto at = static_cast<std::size_t>(i);
    if (p.fixed[at] != not_fixed) continue;
    const Index before = predecessor[at];
    objects.join(i, before == Predecessors::none ? objects.open() : objects.object_of(before));
  }
  return objects.side_by_side();
}

}  // namespace tyto::memory
