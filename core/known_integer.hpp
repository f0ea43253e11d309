// What is known of an integer before it is computed: between which numbers it lies, and which of its bits are fixed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tyto/dtype.hpp"

namespace tyto::core {

enum class OpId : std::uint16_t;

/// All numbers from low to high whose bits agree. Bits are those of the number as an int64: of signed types the sign
/// stands in all the bits above. There is always such a number.
struct KnownInteger {
  std::int64_t low = 0, high = 0;
  std::uint64_t zeros = 0, ones = 0;  // the bits that are 0, and that are 1, in all of them

  bool is_one_number() const { return low == high; }
  friend bool operator==(const KnownInteger&, const KnownInteger&) = default;
};

/// Booleans are 0 or 1. Nothing can be said of floating-point numbers, nor of u64, which an int64 does not hold.
std::optional<KnownInteger> any_of(DType type);
std::optional<KnownInteger> only(DType type, std::int64_t number);

/// What an operator makes of operands of these types; an operand of which nothing can be said is nothing.
/// The result is that of computing in its type, which wraps round.
std::optional<KnownInteger> known_result(OpId op, DType result, std::span<const DType> types,
                                         std::span<const std::optional<KnownInteger>> operands);

/// The comparison that says of (b, a) what this one says of (a, b).
OpId mirrored(OpId comparison);

/// What is known of `a` where comparing it with `b` gives `holds`; nothing where that cannot be.
std::optional<KnownInteger> known_where(OpId comparison, bool holds, const KnownInteger& a, const KnownInteger& b);

}  // namespace tyto::core
