// SPDX-License-Identifier: MIT
// Counts the plans of functions made of operators and their runs, for tests.
#pragma once

#include <cstdint>

namespace tyto::run {

struct PlannedCallCount {
  std::uint64_t plans = 0;  ///< made
  std::uint64_t runs = 0;   ///< calls that a plan computed
};

/// The counts of this thread.
PlannedCallCount planned_call_count();

}  // namespace tyto::run
