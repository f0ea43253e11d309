// SPDX-License-Identifier: MIT
// Estimates what a loop over rows reads, writes and computes for each element; the length of blocks and the prefetching
// of inputs follow from it.
#pragma once

#include <cstddef>
#include <vector>

#include "core/loop/bound_loop.hpp"
#include "core/loop/loop_levels.hpp"

namespace tyto::cpu {

class RowWork {
 public:
  /// `whole` is what whole_values gives.
  RowWork(const core::BoundLoop& bound, const core::LoopLevels& levels, const std::vector<bool>& whole);

  /// Whether each element of the input is read for one element of the loop's shape.
  bool advances(core::LoopValue input) const;
  /// Bytes an element of inputs that advance. Repeated inputs count for nothing.
  double read_bytes() const;
  /// Bytes an element of whole results.
  double written_bytes() const;
  /// Bytes an element of what a block touches: operands of as many elements, whole results, and values kept for later
  /// levels. An estimate: a kept value may lie in a result's place, and what code cannot reduce is kept besides.
  double block_bytes() const;

  /// How much there is to compute of whole elements after so many reductions: operators, those that take long counted
  /// as many.
  int at(std::size_t depth) const { return by_depth_[depth]; }
  /// Whether no other level has more.
  bool is_most_at(std::size_t depth) const;

 private:
  double bytes_of(core::LoopValue value) const { return static_cast<double>(size_of(types_[value])); }

  const core::BoundLoop& bound_;
  const core::LoopLevels& levels_;
  const std::vector<bool>& whole_;
  std::vector<DType> types_;  // by value
  std::vector<int> by_depth_;
};

}  // namespace tyto::cpu
