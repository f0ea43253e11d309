// SPDX-License-Identifier: MIT
// Checks and conversions of tensors that eager and recorded loops and branches share.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tyto/flow.hpp"

#include "core/graph/symbol.hpp"

namespace tyto::run {

inline core::TensorType type_of(const Value& value) { return {value.dtype(), value.shape(), false}; }

/// Operands as they are now; numbers without a width get their own. Throws GraphError naming `op` for undefined
/// tensors.
std::vector<Value> strong(std::string_view op, std::span<const Value> values);

/// One bool without axes. Throws naming `op` and `what`.
Value one_truth(std::string_view op, std::string_view what, const Value& value);
/// How often a loop over [first, last) runs.
constexpr std::int64_t trips_between(std::int64_t first, std::int64_t last) {
  std::int64_t trips = 0;
  return last <= first ? 0 : __builtin_sub_overflow(last, first, &trips) ? INT64_MAX : trips;
}
/// One integer as i64 without axes.
Value one_number(std::string_view op, std::string_view what, const Value& value);

/// The first results of a body, which must have the types of the carries.
std::vector<Value> next_carries(std::string_view op, std::span<const Value> carries, std::span<const Value> results);

/// The number of rows of the stacks; all must have as many.
std::int64_t rows_of(std::string_view op, std::span<const Value> stacks);

/// The row's type of a stack.
core::TensorType row_type(const Value& stack);

/// Throws for invalid calls, in either mode.
void check_call(const detail::LoopCall& call);

/// Records a loop; eager mode needs it for the result types of a loop without iterations.
detail::LoopResults record_loop(const detail::LoopCall& call);
std::vector<core::TensorType> recorded_row_types(const detail::LoopCall& call);
std::vector<Value> record_branch(std::string_view op, const Value& index, bool is_truth,
                                 std::span<const std::function<std::vector<Value>()>> arms);

}  // namespace tyto::run
