// SPDX-License-Identifier: MIT
// Conditions whose value eager mode knows, by which functions choose what to record.
#pragma once

#include <optional>

#include "ops/define.hpp"
#include "tyto/graph.hpp"

namespace tyto::core {

/// Whether that holds, if eager mode knows it already.
template <class T>
std::optional<bool> holds_now(const T& condition) {
  if (mode_like(condition) == Mode::lazy) return {};
  const auto value = known(condition);
  return value ? std::optional(value->template item<bool>()) : std::nullopt;
}

}  // namespace tyto::core
