// SPDX-License-Identifier: MIT
// Comparisons of collective calls among processes: their count, the group that made one, the error where calls differ;
// and the largest of a number over a group.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tyto/error.hpp"

namespace tyto::core {

/// How many comparisons of collective calls this process has taken part in.
std::uint64_t agreements();

/// The group whose processes compared their calls after the first `before` comparisons: that of all processes, or the
/// only other one. Nothing where there was none or were several. Messages between two processes do not count.
std::optional<std::int64_t> group_that_agreed(std::uint64_t before);

/// Thrown by every process of a group where their next calls differ.
struct DifferentCalls : GraphError {
  using GraphError::GraphError;
  std::int64_t group = 0;
};

/// The largest number that a process of the group of that number brings. All of them make this call, which `call`
/// names; where one makes another it is DifferentCalls.
std::int64_t largest_of_all(std::string_view call, std::int64_t number, std::int64_t group);

}  // namespace tyto::core
