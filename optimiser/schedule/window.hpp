// SPDX-License-Identifier: MIT
// The best order of few tasks, by dynamic programming over the sets of them that are done.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "optimiser/schedule/problem.hpp"

namespace tyto::schedule {

/// Tasks of one window, at most: they are bits of a word.
inline constexpr std::size_t most_in_window = 64;

/// The budget of a search, and what it has used.
struct WindowEffort {
  std::size_t states = 20'000;  // sets kept at most; the search gives up beyond
  std::size_t visited = 0;      // tasks tried, added to
};

/// The order of `window` with the lowest peak below `incumbent` when `start` has run what comes before; nothing when
/// there is none or the search gave up. What comes after must not be worse off: no more bytes may be alive at the end
/// than `live_after`. The window must be a stretch of a valid order.
std::optional<Order> best_window(const Problem& problem, const Simulation& start, std::span<const Task> window,
                                 std::int64_t incumbent, std::int64_t live_after, WindowEffort& effort);

}  // namespace tyto::schedule
