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
    const std::int64_t inner = lengths_.empty() ? 1 : lengths_.back();
    Offsets steps{};  // what visits write might lie among the strides, for all that the compiler knows
    if (!lengths_.empty()) {
      for (std::size_t k = 0; k < K; ++k) steps[k] = strides_[k].back();
    }
    for (std::int64_t index = range.begin; index < range.end;) {
      const std::int64_t end = std::min(range.end, index + inner - index % inner);
      Offsets offsets = at(index);
      for (; index < end; ++index) {
        visit(index, std::as_const(offsets));
        for (std::size_t k = 0; k < K; ++k) offsets[k] += steps[k];
      }
    }
  }

 private:
  std::int64_t count_ = 1;
  Shape lengths_;
  std::array<Strides, K> strides_;
  Offsets start_{};
};

}  // namespace tyto::cpu
