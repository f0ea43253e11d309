// SPDX-License-Identifier: MIT
// Persistent maps of when the elements of a concat-like whole are overwritten, for every one of its earlier forms.
#pragma once

#include <cstdint>
#include <vector>

#include "core/value/view.hpp"

namespace tyto::optimiser {

/// Persistent maps from elements to the position in the order at which they are overwritten first. A map that differs
/// from another in one range shares all but a few nodes with it, so that a chain of n writes takes n log n.
class Overwritten {
 public:
  using Map = std::uint32_t;
  static constexpr Map nothing = 0;
  static constexpr std::uint32_t never = UINT32_MAX;

  Overwritten() : nodes_{{never, nothing, nothing}} {}

  /// `map`, and in addition `range` of a whole of `count` elements, at a place before all those in the map.
  Map with(Map map, std::int64_t count, core::ElementRange range, std::uint32_t position) {
    return with(map, {0, count}, range, position);
  }
  /// The first place at which an element of the range is overwritten.
  std::uint32_t first_in(Map map, std::int64_t count, core::ElementRange range) const {
    return first_in(map, {0, count}, range);
  }

 private:
  /// A node of the tree: a range of elements and its halves. A range overwritten as a whole is its own two halves.
  struct Node {
    std::uint32_t position;  // the first one
    Map low, high;
  };

  Map with(Map map, core::ElementRange all, core::ElementRange range, std::uint32_t position);
  std::uint32_t first_in(Map map, core::ElementRange all, core::ElementRange range) const;

  std::vector<Node> nodes_;
};

}  // namespace tyto::optimiser
