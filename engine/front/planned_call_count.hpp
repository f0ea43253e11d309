// SPDX-License-Identifier: MIT
// How often functions made of operators went by their plans, for tests.
#pragma once

#include <cstdint>

namespace tyto::run {

struct PlannedCallCount {
  std::uint64_t plans = 0;  ///< made
  std::uint64_t runs = 0;   ///< calls that a plan computed
};

/// Of this thread.
PlannedCallCount planned_call_count();

}  // namespace tyto::run
