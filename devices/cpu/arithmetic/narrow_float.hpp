// SPDX-License-Identifier: MIT
// The types that elements are computed in, and conversions from and to the 16-bit storage formats.
#pragma once

#include <tyto/dtype.hpp>

#include "core/value/half_bits.hpp"

namespace tyto::cpu {

// Internal linkage throughout: sources compiled for different instruction sets must not share one of these.

[[gnu::always_inline]] static inline float widen(Half value) { return core::widen_half(value.bits); }
[[gnu::always_inline]] static inline float widen(BFloat16 value) { return core::widen_bfloat(value.bits); }

// The type that a stored element is computed in: its own, or float for the 16-bit formats.
template <class T>
struct ComputeType {
  using Type = T;
};
template <>
struct ComputeType<Half> {
  using Type = float;
};
template <>
struct ComputeType<BFloat16> {
  using Type = float;
};
template <class T>
using Compute = typename ComputeType<T>::Type;

template <class T>
[[gnu::always_inline]] static inline Compute<T> load_element(T value) {
  if constexpr (sizeof(Compute<T>) != sizeof(T)) {
    return widen(value);
  } else {
    return value;
  }
}

/// Rounds a computed value to its storage format.
template <class T>
struct StoreElement {
  [[gnu::always_inline]] static inline T from(Compute<T> value) { return value; }
};
template <>
struct StoreElement<Half> {
  [[gnu::always_inline]] static inline Half from(float value) {
    return __builtin_bit_cast(Half, core::narrow_to_half(value));
  }
};
template <>
struct StoreElement<BFloat16> {
  [[gnu::always_inline]] static inline BFloat16 from(float value) {
    return __builtin_bit_cast(BFloat16, core::narrow_to_bfloat(value));
  }
};

}  // namespace tyto::cpu
