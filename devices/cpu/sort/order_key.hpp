// SPDX-License-Identifier: MIT
// Elements as signed integers that compare as the elements do, so that sorting never compares floats.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tyto/dtype.hpp>

namespace tyto::cpu {

/// The signed integer as wide as T.
template <class T>
using KeyBits = std::conditional_t<
    sizeof(T) == 1, std::int8_t,
    std::conditional_t<sizeof(T) == 2, std::int16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>;

/// The type that keys are sorted in: narrow ones are widened, so that there are two kinds of sorting loops.
template <class T>
using SortedKey = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

template <class T>
inline constexpr bool is_stored_float =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// Bits of positive infinity; anything larger without its sign is NaN.
template <class T>
inline constexpr KeyBits<T> infinity_bits = std::is_same_v<T, Half>       ? KeyBits<T>(0x7c00)
                                            : std::is_same_v<T, BFloat16> ? KeyBits<T>(0x7f80)
                                            : sizeof(T) == 4              ? KeyBits<T>(0x7f800000)
                                                                          : static_cast<KeyBits<T>>(0x7ff0000000000000);

/// The greatest number that a key of type K can be.
template <class K>
inline constexpr K greatest_key = static_cast<K>((std::uint64_t{1} << (8 * sizeof(K) - 1)) - 1);

/// Orders elements ascending, or descending where asked; NaN comes last either way. Equal elements (0 and -0 too) have
/// equal keys. Inlined always: sources compiled for different instruction sets must not share a function.
template <class T>
struct OrderKey {
  using Bits = KeyBits<T>;
  static constexpr Bits last = greatest_key<Bits>;
  /// The bits without the sign, which is the top one.
  static constexpr Bits magnitude_bits = last;

  [[gnu::always_inline]] static inline Bits of(T value, bool descending) {
    Bits bits = __builtin_bit_cast(Bits, value);
    if constexpr (is_stored_float<T>) {
      const Bits magnitude = static_cast<Bits>(bits & magnitude_bits);
      // Among negative numbers the larger magnitude is the lesser number.
      bits = bits < 0 ? static_cast<Bits>(~magnitude + 1) : magnitude;
      bits = descending ? static_cast<Bits>(~bits) : bits;
      return magnitude > infinity_bits<T> ? last : bits;
    } else {
      if constexpr (std::is_unsigned_v<T>) bits = static_cast<Bits>(bits ^ ~magnitude_bits);
      return descending ? static_cast<Bits>(~bits) : bits;
    }
  }

  [[gnu::always_inline]] static inline bool is_negative_zero(T value) {
    return __builtin_bit_cast(Bits, value) == static_cast<Bits>(~magnitude_bits);
  }

  /// An element with this key: 0 for both zeros, and one NaN for all.
  [[gnu::always_inline]] static inline T element(Bits key, bool descending) {
    Bits bits = descending ? static_cast<Bits>(~key) : key;
    if constexpr (is_stored_float<T>) {
      // Unsigned, since the key behind all others may be the smallest number, which has no negative.
      const auto negated =
          static_cast<Bits>(std::make_unsigned_t<Bits>{0} - static_cast<std::make_unsigned_t<Bits>>(bits));
      bits = bits < 0 ? static_cast<Bits>(negated | ~magnitude_bits) : bits;
      bits = key == last ? static_cast<Bits>(infinity_bits<T> | (infinity_bits<T> >> 1)) : bits;
    } else if constexpr (std::is_unsigned_v<T>) {
      bits = static_cast<Bits>(bits ^ ~magnitude_bits);
    }
    return __builtin_bit_cast(T, bits);
  }
};

}  // namespace tyto::cpu
