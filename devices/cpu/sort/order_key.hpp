// Elements as unsigned integers that compare as the elements do, so that sorting never compares floats.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tyto/dtype.hpp>

namespace tyto::cpu {

/// The unsigned integer as wide as T.
template <class T>
using KeyBits =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
inline constexpr bool is_stored_float =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// Bits of positive infinity; anything larger without its sign is NaN.
template <class T>
inline constexpr KeyBits<T> infinity_bits = std::is_same_v<T, Half>       ? KeyBits<T>(0x7c00)
                                            : std::is_same_v<T, BFloat16> ? KeyBits<T>(0x7f80)
                                            : sizeof(T) == 4              ? KeyBits<T>(0x7f800000u)
                                                             : static_cast<KeyBits<T>>(0x7ff0000000000000u);

/// Orders elements ascending, or descending where asked; NaN comes last either way. Equal elements (0 and -0 too) have
/// equal keys.
template <class T>
struct OrderKey {
  using Bits = KeyBits<T>;
  static constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  static constexpr Bits last = std::numeric_limits<Bits>::max();

  static Bits of(T value, bool descending) {
    Bits bits = std::bit_cast<Bits>(value);
    if constexpr (is_stored_float<T>) {
      const Bits magnitude = static_cast<Bits>(bits & ~sign);
      if (magnitude > infinity_bits<T>) return last;
      if (magnitude == 0) bits = 0;
      const Bits ordered = (bits & sign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | sign);
      return descending ? static_cast<Bits>(~ordered) : ordered;
    } else {
      if constexpr (std::is_signed_v<T>) bits = static_cast<Bits>(bits ^ sign);
      return descending ? static_cast<Bits>(~bits) : bits;
    }
  }

  /// An element with this key: 0 for both zeros, and one NaN for all.
  static T element(Bits key, bool descending) {
    if constexpr (is_stored_float<T>) {
      if (key == last) return std::bit_cast<T>(static_cast<Bits>(infinity_bits<T> | (infinity_bits<T> >> 1)));
      const Bits ordered = descending ? static_cast<Bits>(~key) : key;
      return std::bit_cast<T>((ordered & sign) != 0 ? static_cast<Bits>(ordered ^ sign) : static_cast<Bits>(~ordered));
    } else {
      const Bits bits = descending ? static_cast<Bits>(~key) : key;
      return std::bit_cast<T>(std::is_signed_v<T> ? static_cast<Bits>(bits ^ sign) : bits);
    }
  }
};

}  // namespace tyto::cpu
