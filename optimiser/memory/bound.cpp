// SPDX-License-Identifier: MIT
// The heaviest section by one sweep; the heaviest antichain by blocking flows in layers (Dinitz).
#include "optimiser/memory/bound.hpp"

#include <algorithm>

namespace tyto::memory {
namespace {

Bytes heaviest_section(const Problem& p) {
  // Largest padding alive in each section: a section whose topmost block carries it needs that much less.
  Bytes bound = 0;
  if (p.slack == 0) {
    for (const Bytes load : p.load) bound = std::max(bound, load);
  } else {
    std::vector<Index> order(p.size.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
      const auto i = static_cast<std::size_t>(a);
      const auto j = static_cast<std::size_t>(b);
      return p.padded[i] - p.size[i] != p.padded[j] - p.size[j] ? p.padded[i] - p.size[i] > p.padded[j] - p.size[j]
                                                                : a < b;
    });
    // Each section takes the first block in this order that covers it; `next` skips sections already done.
    std::vector<Index> next(static_cast<std::size_t>(p.sections) + 1);
    for (std::size_t k = 0; k < next.size(); ++k) next[k] = static_cast<Index>(k);
    const auto find = [&](Index k) {
      while (next[static_cast<std::size_t>(k)] != k) {
        next[static_cast<std::size_t>(k)] = next[static_cast<std::size_t>(next[static_cast<std::size_t>(k)])];
        k = next[static_cast<std::size_t>(k)];
      }
      return k;
    };
    for (const Index i : order) {
      const auto at = static_cast<std::size_t>(i);
      p.for_each_run(at, [&](Index first, Index last) {
        for (Index k = find(first); k < last; k = find(k)) {
          bound = std::max(bound, p.load[static_cast<std::size_t>(k)] - (p.padded[at] - p.size[at]));
          next[static_cast<std::size_t>(k)] = k + 1;
        }
      });
    }
  }
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    if (p.fixed[i] != not_fixed) bound = std::max(bound, p.fixed[i] + p.size[i]);
  }
  return bound;
}

// Flow from the left copy of each block (capacity its weight) to the right copies of the blocks that it precedes. The
// bytes that flow are bytes handed on; what is left over must be opened anew, and that is the antichain's weight.
class HandOn {
 public:
  HandOn(const Problem& problem, const std::vector<Bytes>& weight)
      : n_(weight.size()), supply_(weight), demand_(weight), flow_(n_ * n_, 0), level_(2 * n_), next_(2 * n_) {
    later_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        if (i != j && problem.precedence->precedes(static_cast<std::size_t>(problem.input[i]),
                                                   static_cast<std::size_t>(problem.input[j]))) {
          later_[i].push_back(static_cast<Index>(j));
        }
      }
    }
    earlier_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      for (const Index j : later_[i]) earlier_[static_cast<std::size_t>(j)].push_back(static_cast<Index>(i));
    }
  }

  Bytes maximal() {
    Bytes total = greedy();
    while (layer()) {
      std::fill(next_.begin(), next_.end(), 0);
      for (std::size_t i = 0; i < n_; ++i) {
        while (supply_[i] > 0) {
          const Bytes pushed = push(i, supply_[i]);
          if (pushed == 0) break;
          supply_[i] -= pushed;
          total += pushed;
        }
      }
    }
    return total;
  }

 private:
  Bytes& flow(std::size_t from, std::size_t to) { return flow_[from * n_ + to]; }

  Bytes greedy() {
    Bytes total = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (const Index to : later_[i]) {
        const auto j = static_cast<std::size_t>(to);
        const Bytes moved = std::min(supply_[i], demand_[j]);
        supply_[i] -= moved;
        demand_[j] -= moved;
        flow(i, j) += moved;
        total += moved;
      }
    }
    return total;
  }

  // Breadth first over left copies [0, n) and right copies [n, 2n); true when free demand is reached.
  bool layer() {
    std::fill(level_.begin(), level_.end(), -1);
    queue_.clear();
    for (std::size_t i = 0; i < n_; ++i) {
      if (supply_[i] > 0) {
        level_[i] = 0;
        queue_.push_back(i);
      }
    }
    bool reached = false;
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const std::size_t v = queue_[head];
      if (v < n_) {
        for (const Index to : later_[v]) visit(n_ + static_cast<std::size_t>(to), level_[v] + 1);
      } else {
        const std::size_t j = v - n_;
        if (demand_[j] > 0) reached = true;
        for (const Index from : earlier_[j]) {
          if (flow(static_cast<std::size_t>(from), j) > 0) visit(static_cast<std::size_t>(from), level_[v] + 1);
        }
      }
    }
    return reached;
  }

  void visit(std::size_t v, int level) {
    if (level_[v] >= 0) return;
    level_[v] = level;
    queue_.push_back(v);
  }

  // One augmenting path down the layers from left copy `start`, kept on an explicit stack.
  Bytes push(std::size_t start, Bytes limit) {
    path_.assign(1, start);
    while (!path_.empty()) {
      const std::size_t v = path_.back();
      if (v >= n_ && demand_[v - n_] > 0) return augment(limit);
      const std::vector<Index>& edges = v < n_ ? later_[v] : earlier_[v - n_];
      bool advanced = false;
      for (; next_[v] < edges.size(); ++next_[v]) {
        const auto w = static_cast<std::size_t>(edges[next_[v]]);
        const std::size_t to = v < n_ ? n_ + w : w;
        if (level_[to] != level_[v] + 1 || (v >= n_ && flow(w, v - n_) == 0)) continue;
        path_.push_back(to);
        advanced = true;
        break;
      }
      if (advanced) continue;
      path_.pop_back();
      if (!path_.empty()) ++next_[path_.back()];
    }
    return 0;
  }

  Bytes augment(Bytes limit) {
    Bytes amount = std::min(limit, demand_[path_.back() - n_]);
    for (std::size_t k = 1; k + 1 < path_.size(); k += 2) amount = std::min(amount, flow(path_[k + 1], path_[k] - n_));
    for (std::size_t k = 0; k + 1 < path_.size(); ++k) {
      if (k % 2 == 0) {
        flow(path_[k], path_[k + 1] - n_) += amount;
      } else {
        flow(path_[k + 1], path_[k] - n_) -= amount;
      }
    }
    demand_[path_.back() - n_] -= amount;
    return amount;
  }

  std::size_t n_;
  std::vector<Bytes> supply_;
  std::vector<Bytes> demand_;
  std::vector<Bytes> flow_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<Index>> later_;
  std::vector<std::vector<Index>> earlier_;
  std::vector<std::size_t> queue_;
  std::vector<std::size_t> path_;
};

}  // namespace

Bytes heaviest_antichain(const Problem& problem, const std::vector<Bytes>& weight) {
  Bytes total = 0;
  for (const Bytes w : weight) total += w;
  return total - HandOn(problem, weight).maximal();
}

Bytes lower_bound(const Problem& p) {
  const Bytes serial = heaviest_section(p);
  if (p.precedence == nullptr || p.count() > most_antichain_blocks) return serial;
  // An antichain is in mutual conflict, so its blocks are stacked; all but the topmost pay their padding.
  return std::max(serial, heaviest_antichain(p, p.padded) - p.slack);
}

}  // namespace tyto::memory
