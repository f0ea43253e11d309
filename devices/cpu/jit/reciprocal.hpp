// Division by a number that is known: two instructions in place of one that takes several times as long.
#pragma once

#include <optional>

namespace tyto::cpu::jit {

/// fma(x, high, x * low) is x / divisor, correctly rounded, for x = 0 and from |x| = least on (infinities and NaN
/// included), whether subnormal numbers count as zeros or not.
struct Reciprocal {
  float high, low, least;
};

/// None for divisors for which that does not hold of some x, that are a power of two, zero, not finite, or very large
/// or small.
std::optional<Reciprocal> reciprocal_of(float divisor);

}  // namespace tyto::cpu::jit
