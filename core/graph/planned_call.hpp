// SPDX-License-Identifier: MIT
// Runs functions made of operators by one compiled plan in eager mode, where that pays.
#pragma once

#include <cstdint>
#include <span>

#include "tyto/value.hpp"

namespace tyto::core {

/// A call of a function made of operators: equal functions, numbers and types of operands have the same plan.
struct PlannedCall {
  std::uint64_t function;                  // tells it from all others
  std::span<const std::uint64_t> numbers;  // its other arguments
  std::span<const Value> operands;
  /// The function's result of operands in place of those given.
  Value (*record)(const void* context, std::span<const Value> operands);
  const void* context;
};

/// Counts of this thread's plans, for tests.
struct PlannedCallCount {
  std::uint64_t plans = 0;  ///< made
  std::uint64_t runs = 0;   ///< calls that a plan computed
};
PlannedCallCount planned_call_count();

/// The result, computed by the function's plan; empty where its operators are to be applied one by one: lazy operands,
/// some that a tape remembers, few elements, or too few calls so far to pay for a plan. Defined in engine/front.
Value planned_result(const PlannedCall& call);

}  // namespace tyto::core
