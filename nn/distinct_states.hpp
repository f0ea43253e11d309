// SPDX-License-Identifier: MIT
// A set of states: one that several modules share is listed once.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "core/graph/state_observation.hpp"
#include "tyto/tensor.hpp"

namespace tyto::nn {

class DistinctStates {
 public:
  /// Whether the state was not there yet; it is now.
  bool add(const Tensor<Any>& state) { return seen_.insert(key_of(state)).second; }
  bool add(const core::State& state) { return seen_.insert({&state, 0}).second; }
  bool contains(const Tensor<Any>& state) const { return seen_.contains(key_of(state)); }

 private:
  using Key = std::pair<const void*, std::uint32_t>;
  static Key key_of(const Tensor<Any>& tensor) {
    const Value& value = tensor.value();
    if (const core::State* const state = core::state_of(value)) return {state, 0};
    return {value.node(), value.output()};  // of what is listed though it is no state
  }
  std::set<Key> seen_;
};

}  // namespace tyto::nn
