// Conditions that eager mode has computed already, on which functions choose what to record.
#pragma once

#include <optional>
#include <type_traits>

#include "ops/define.hpp"
#include "tyto/graph.hpp"

namespace tyto::core {

/// Whether that holds, if eager mode knows it already.
template <class T>
std::optional<bool> holds_now(const T& condition) {
  if constexpr (std::is_same_v<T, Tensor<Eager>>) {
    if (const auto value = known(condition)) return value->template item<bool>();
  }
  return {};
}

}  // namespace tyto::core
