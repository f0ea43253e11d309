// SPDX-License-Identifier: MIT
// The workspace of a region's kernel as blocks with lifetimes, which are planned with those of the program around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tyto/memory.hpp"

namespace tyto::run {

/// A block of memory, alive in the instants [lower, upper) of its region's timeline, or in spans of these.
struct RegionBlock {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::size_t bytes = 0;
  std::string label;
  std::vector<Span> spans = {};  // where there are holes
};

/// All blocks of a region, those of regions within it included. Its timeline takes the place of one step in the program
/// around it: arms stand there one after the other, a loop's body once.
struct RegionLayout {
  std::int64_t duration = 0;  // instants
  std::vector<RegionBlock> blocks;
  /// When what the kernel is given as its operands and results is needed, if no one else needs that: operands that die
  /// in it up to their last reader in each arm, results from where an arm computes them on.
  std::vector<std::vector<Span>> operands, results;
};

/// The places of a layout's blocks, handed out in the order in which they were listed.
class RegionOffsets {
 public:
  explicit RegionOffsets(std::span<const std::size_t> offsets) : rest_(offsets) {}
  std::size_t next() { return next(1)[0]; }
  std::span<const std::size_t> next(std::size_t count) {
    const std::span<const std::size_t> first = rest_.first(count);
    rest_ = rest_.subspan(count);
    return first;
  }

 private:
  std::span<const std::size_t> rest_;
};

}  // namespace tyto::run
