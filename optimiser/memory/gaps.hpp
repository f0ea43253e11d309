// SPDX-License-Identifier: MIT
// The free ranges of one arena in two orders, by address and by size, as balanced trees in flat arrays.
#pragma once

#include <algorithm>
#include <vector>

#include "optimiser/memory/problem.hpp"

namespace tyto::memory {

/// Free ranges below the frontier, with the endless one above it. All operations take logarithmic time.
///
/// Every gap is a node of two treaps whose links lie in arrays: one ordered by address and knowing the largest gap of
/// each subtree (lowest gap that fits), one ordered by (size, address) (smallest gap that fits).
class Gaps {
 public:
  /// The second tree is only kept where take_smallest will be called.
  Gaps(std::size_t most_gaps, bool ordered_by_size) : ordered_by_size_(ordered_by_size) {
    for (auto* links : {&address_, &size_}) {
      links->left.reserve(most_gaps + 1);
      links->right.reserve(most_gaps + 1);
    }
  }

  /// Address of `size` bytes in the smallest gap that holds them, at its lower end; beyond all gaps if none does.
  Bytes take_smallest(Bytes size) { return take(smallest_of(size), size); }
  /// The same in the lowest gap that holds them.
  Bytes take_lowest(Bytes size) { return take(lowest_of(size), size); }

  /// Frees [offset, offset + size), which must be in use; merges with the gaps at both sides.
  void give_back(Bytes offset, Bytes size) {
    Bytes begin = offset;
    Bytes end = offset + size;
    if (const Index below = last_before(begin); below != none && end_[at(below)] == begin) {
      begin = begin_[at(below)];
      remove(below);
    }
    if (const Index above = first_from(end); above != none && begin_[at(above)] == end) {
      end = end_[at(above)];
      remove(above);
    }
    if (end == frontier_) {
      frontier_ = begin;
    } else {
      insert(begin, end);
    }
  }

 private:
  static constexpr Index none = -1;
  struct Links {
    std::vector<Index> left;
    std::vector<Index> right;
    Index root = none;
  };

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  Bytes length(Index gap) const { return end_[at(gap)] - begin_[at(gap)]; }
  bool below(Index a, Index b) const { return begin_[at(a)] < begin_[at(b)]; }
  bool smaller(Index a, Index b) const {
    return length(a) != length(b) ? length(a) < length(b) : begin_[at(a)] < begin_[at(b)];
  }

  Bytes take(Index gap, Bytes size) {
    if (gap == none) {
      const Bytes begin = frontier_;
      frontier_ += size;
      return begin;
    }
    const Bytes begin = begin_[at(gap)];
    const Bytes end = end_[at(gap)];
    remove(gap);
    if (begin + size < end) insert(begin + size, end);
    return begin;
  }

  Index smallest_of(Bytes size) const {
    Index best = none;
    for (Index node = size_.root; node != none;) {
      if (length(node) >= size) {
        best = node;
        node = size_.left[at(node)];
      } else {
        node = size_.right[at(node)];
      }
    }
    return best;
  }

  Index lowest_of(Bytes size) const {
    Index node = address_.root;
    if (node == none || largest_[at(node)] < size) return none;
    for (;;) {
      const Index left = address_.left[at(node)];
      if (left != none && largest_[at(left)] >= size) {
        node = left;
      } else if (length(node) >= size) {
        return node;
      } else {
        node = address_.right[at(node)];
      }
    }
  }

  Index last_before(Bytes address) const {
    Index found = none;
    for (Index node = address_.root; node != none;) {
      if (begin_[at(node)] < address) {
        found = node;
        node = address_.right[at(node)];
      } else {
        node = address_.left[at(node)];
      }
    }
    return found;
  }

  Index first_from(Bytes address) const {
    Index found = none;
    for (Index node = address_.root; node != none;) {
      if (begin_[at(node)] >= address) {
        found = node;
        node = address_.left[at(node)];
      } else {
        node = address_.right[at(node)];
      }
    }
    return found;
  }

  void insert(Bytes begin, Bytes end) {
    Index node;
    if (spare_.empty()) {
      node = static_cast<Index>(begin_.size());
      begin_.push_back(0);
      end_.push_back(0);
      largest_.push_back(0);
      weight_.push_back(0);
      for (auto* links : {&address_, &size_}) {
        links->left.push_back(none);
        links->right.push_back(none);
      }
    } else {
      node = spare_.back();
      spare_.pop_back();
    }
    begin_[at(node)] = begin;
    end_[at(node)] = end;
    weight_[at(node)] = next_weight();
    refresh(node);
    insert_into(
        address_, node, [this](Index a, Index b) { return below(a, b); }, [this](Index n) { refresh(n); });
    if (ordered_by_size_) {
      insert_into(
          size_, node, [this](Index a, Index b) { return smaller(a, b); }, [](Index) {});
    }
  }

  void remove(Index node) {
    remove_from(
        address_, node, [this](Index a, Index b) { return below(a, b); }, [this](Index n) { refresh(n); });
    if (ordered_by_size_) {
      remove_from(
          size_, node, [this](Index a, Index b) { return smaller(a, b); }, [](Index) {});
    }
    spare_.push_back(node);
  }

  void refresh(Index node) {
    Bytes largest = length(node);
    for (const Index child : {address_.left[at(node)], address_.right[at(node)]}) {
      if (child != none) largest = std::max(largest, largest_[at(child)]);
    }
    largest_[at(node)] = largest;
  }

  // Splits the tree under `node` by `less than pivot`; every node on the way is refreshed on the way back.
  template <typename Less, typename Refresh>
  void split(Links& links, Index node, Index pivot, Less&& less, Refresh&& refresh, Index& left, Index& right) {
    if (node == none) {
      left = right = none;
    } else if (less(node, pivot)) {
      Index inner = none;
      split(links, links.right[at(node)], pivot, less, refresh, inner, right);
      links.right[at(node)] = inner;
      left = node;
      refresh(node);
    } else {
      Index inner = none;
      split(links, links.left[at(node)], pivot, less, refresh, left, inner);
      links.left[at(node)] = inner;
      right = node;
      refresh(node);
    }
  }

  template <typename Refresh>
  Index merge(Links& links, Index left, Index right, Refresh&& refresh) {
    if (left == none) return right;
    if (right == none) return left;
    if (weight_[at(left)] > weight_[at(right)]) {
      links.right[at(left)] = merge(links, links.right[at(left)], right, refresh);
      refresh(left);
      return left;
    }
    links.left[at(right)] = merge(links, left, links.left[at(right)], refresh);
    refresh(right);
    return right;
  }

  template <typename Less, typename Refresh>
  void insert_into(Links& links, Index node, Less&& less, Refresh&& refresh) {
    Index left = none;
    Index right = none;
    links.left[at(node)] = links.right[at(node)] = none;
    split(links, links.root, node, less, refresh, left, right);
    refresh(node);
    links.root = merge(links, merge(links, left, node, refresh), right, refresh);
  }

  template <typename Less, typename Refresh>
  void remove_from(Links& links, Index node, Less&& less, Refresh&& refresh) {
    path_.clear();
    Index below = links.root;
    while (below != node) {
      path_.push_back(below);
      below = less(node, below) ? links.left[at(below)] : links.right[at(below)];
    }
    const Index rest = merge(links, links.left[at(node)], links.right[at(node)], refresh);
    if (path_.empty()) {
      links.root = rest;
    } else if (links.left[at(path_.back())] == node) {
      links.left[at(path_.back())] = rest;
    } else {
      links.right[at(path_.back())] = rest;
    }
    for (auto it = path_.rbegin(); it != path_.rend(); ++it) refresh(*it);
  }

  // Balance needs weights that look random, not random ones: a fixed sequence keeps plans repeatable.
  std::uint32_t next_weight() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }

  std::vector<Bytes> begin_;
  std::vector<Bytes> end_;
  std::vector<Bytes> largest_;  // of the subtree by address
  std::vector<std::uint32_t> weight_;
  Links address_;
  Links size_;
  std::vector<Index> spare_;
  std::vector<Index> path_;
  bool ordered_by_size_;
  Bytes frontier_ = 0;
  std::uint32_t state_ = 2463534242U;
};

}  // namespace tyto::memory
