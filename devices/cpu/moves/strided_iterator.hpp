// SPDX-License-Identifier: MIT
// Iterates over strided views in row-major order, from any start, so that threads can share one iteration.
#pragma once

#include <array>
#include <utility>

#include "core/value/view.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

/// An iterator over K views of one shape. It keeps no state between visits, so any rank works without memory at launch.
template <std::size_t K>
class StridedIterator {
 public:
  using Offsets = std::array<std::int64_t, K>;

  StridedIterator() = default;

  /// Views are merged into as few axes as possible; offsets start at the views' own.
  explicit StridedIterator(std::array<core::View, K> views) {
    count_ = views[0].count();
    core::collapse(views);
    lengths_ = views[0].shape;
    for (std::size_t k = 0; k < K; ++k) {
      start_[k] = views[k].offset;
      strides_[k] = views[k].strides;
    }
  }

  std::int64_t count() const { return count_; }

  Offsets at(std::int64_t index) const {
    Offsets offsets = start_;
    for (std::size_t axis = lengths_.size(); axis-- > 0 && index != 0;) {
      const std::int64_t position = index % lengths_[axis];
      index /= lengths_[axis];
      for (std::size_t k = 0; k < K; ++k) offsets[k] += position * strides_[k][axis];
    }
    return offsets;
  }

  /// Calls visit(index, offsets) for each position of the range.
  template <class Visit>
  void each(Range range, const Visit& visit) const {
    each_row(range, [&](Range row, Offsets offsets, const Offsets& steps) {
      for (std::int64_t index = row.begin; index < row.end; ++index) {
        visit(index, std::as_const(offsets));
        offsets = sum(offsets, steps, std::make_index_sequence<K>());
      }
    });
  }
  /// Calls visit(positions, offsets, steps) for the parts of the range along which offsets grow by the same steps.
  template <class Visit>
  void each_row(Range range, const Visit& visit) const {
    const std::size_t rank = lengths_.size();
    const std::int64_t inner = rank < 1 ? 1 : lengths_[rank - 1], rows = rank < 2 ? 1 : lengths_[rank - 2];
    Offsets steps{}, row_steps{};  // what visits write might lie among the strides, for all that the compiler knows
    for (std::size_t k = 0; k < K; ++k) {
      if (rank > 0) steps[k] = strides_[k][rank - 1];
      if (rank > 1) row_steps[k] = strides_[k][rank - 2];
    }
    // Rows of one axis follow one another without a division.
    for (std::int64_t index = range.begin; index < range.end;) {
      std::int64_t end = index + inner - index % inner;
      const std::int64_t last = end + (rows - 1 - index / inner % rows) * inner;
      for (Offsets first = at(index), row = at(end - inner); index < range.end && end <= last; end += inner) {
        const std::int64_t stop = std::min(range.end, end);
        visit(Range{index, stop}, std::as_const(first), std::as_const(steps));
        index = stop;
        first = row = sum(row, row_steps, std::make_index_sequence<K>());
      }
    }
  }

 private:
  // Element by element, not by a loop: arrays that loops index stay in memory, where the next visit waits for them.
  template <std::size_t... k>
  static Offsets sum(const Offsets& a, const Offsets& b, std::index_sequence<k...>) {
    return {(a[k] + b[k])...};
  }

  std::int64_t count_ = 1;
  Shape lengths_;
  std::array<Strides, K> strides_;
  Offsets start_{};
};

}  // namespace tyto::cpu
