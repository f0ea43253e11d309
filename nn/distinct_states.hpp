// SPDX-License-Identifier: MIT
// Lists of states in which one that several modules share stands once.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "tyto/tensor.hpp"

namespace tyto::nn {

class DistinctStates {
 public:
  /// Whether the state was not there yet; it is now.
  bool add(const Tensor<Any>& state) { return seen_.insert(key_of(state)).second; }
  bool contains(const Tensor<Any>& state) const { return seen_.contains(key_of(state)); }

 private:
  using Key = std::pair<const core::Node*, std::uint32_t>;
  static Key key_of(const Tensor<Any>& state) { return {state.value().node(), state.value().output()}; }
  std::set<Key> seen_;
};

}  // namespace tyto::nn
