// SPDX-License-Identifier: MIT
// Functions made of operators that eager mode computes by a pass over the elements on the host;
// engine/front defines them.
#pragma once

#include <optional>

#include "tyto/sets.hpp"

namespace tyto::core {

/// The distinct elements and all about them; empty where the operators are to be applied: a lazy tensor, one that a
/// tape remembers, or one without elements or order.
std::optional<Unique<Any>> distinct_now(const Value& x, std::optional<std::int64_t> size);

/// One more than the largest number of a vector of i64 that eager mode computed. Throws where one is negative.
std::int64_t length_for_counts(const Value& numbers);

/// How often each number from 0 to `length` occurs in a vector of i64, or the sum of its weights, which may be
/// undefined. Empty where the operators are to be applied: lazy tensors, ones that a tape remembers, narrow weights.
Value counted_now(const Value& numbers, std::int64_t length, const Value& weights);

}  // namespace tyto::core
