// SPDX-License-Identifier: MIT
// Whole objects of memory, each reused by blocks that never meet: the model of Owl, MXNet and GPU texture planners.
#pragma once

#include <algorithm>
#include <vector>

#include "optimiser/memory/placement.hpp"

namespace tyto::memory {

/// Which object each block has. Sizes of objects are those of their largest blocks.
class Objects {
 public:
  explicit Objects(const Problem& problem) : problem_(problem), object_of_(problem.size.size(), none) {}

  static constexpr Index none = -1;

  Index open() {
    sizes_.push_back(0);
    return static_cast<Index>(sizes_.size()) - 1;
  }
  void join(Index block, Index object) {
    object_of_[static_cast<std::size_t>(block)] = object;
    Bytes& size = sizes_[static_cast<std::size_t>(object)];
    size = std::max(size, problem_.padded[static_cast<std::size_t>(block)]);
  }
  Index object_of(Index block) const { return object_of_[static_cast<std::size_t>(block)]; }
  Bytes size(Index object) const { return sizes_[static_cast<std::size_t>(object)]; }
  Index count() const { return static_cast<Index>(sizes_.size()); }

  /// Objects side by side above the fixed blocks, each aligned for all of its blocks.
  Placement side_by_side() const;

 private:
  const Problem& problem_;
  std::vector<Index> object_of_;
  std::vector<Bytes> sizes_;
};

}  // namespace tyto::memory
