// SPDX-License-Identifier: MIT
// Error messages for indices that are out of range, the same on every device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

/// The name of an operator that takes indices as the user wrote it: plain indexing is a gather or a scatter.
inline std::string_view written_as(OpId op) {
  if (op == OpId::gather) return "gather or x(indices)";
  if (op == OpId::scatter) return "scatter or x(indices) = v";
  return definition(op).name;
}

/// Throws for an index outside of an axis, which the operator of that name was given.
inline std::string message_of_index(std::string_view op, std::int64_t index, std::int64_t length) {
  return text(
      op, ": index ", index, " is outside an axis of length ", length,
      length == 0 ? std::string(", which holds nothing") : text("; it must lie in [", -length, ", ", length - 1, "]"));
}

/// A value outside of bounds. Of u64 the value may be one that i64 does not hold. Without a word for the range the
/// value counts what the subject tells.
template <class Integer>
std::string message_of_bounds(const BoundsAttributes& bounds, Integer value) {
  if (bounds.range.empty()) return text(bounds.caller, ": ", value, " ", bounds.subject);
  return text(bounds.caller, ": ", bounds.subject, " ", value, " is out of range; the ", bounds.range, " are ",
              bounds.low, " to ", bounds.high);
}

template <class Integer>
[[noreturn]] void throw_out_of_bounds(const BoundsAttributes& bounds, Integer value) {
  const std::string message = message_of_bounds(bounds, value);
  if (bounds.range.empty()) throw ValueError(message);
  throw IndexError(message);
}

}  // namespace tyto::core
