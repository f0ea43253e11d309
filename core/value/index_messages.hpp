// What is told of indices that are out of range, by whichever device meets them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/attributes.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

/// An index outside of an axis, which the operator of that name was given.
inline std::string message_of_index(std::string_view op, std::int64_t index, std::int64_t length) {
  return text(
      op, ": index ", index, " is outside an axis of length ", length,
      length == 0 ? std::string(", which holds nothing") : text("; it must lie in [", -length, ", ", length - 1, "]"));
}

/// A value outside of bounds. Of u64 the value may be one that i64 does not hold.
template <class Integer>
std::string message_of_bounds(const BoundsAttributes& bounds, Integer value) {
  return text(bounds.caller, ": ", bounds.subject, " ", value, " is out of range; the ", bounds.range, " are ",
              bounds.low, " to ", bounds.high);
}

}  // namespace tyto::core
