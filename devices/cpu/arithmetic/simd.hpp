// SPDX-License-Identifier: MIT
// Vectors of so many bytes, as types of the compiler.
//
// For sources that are compiled once an instruction set: what is here is inlined always, so that the linker finds no
// code to share between sets.
#pragma once

#include <utility>

namespace tyto::cpu {

template <class T, int Bytes>
struct Simd {
  typedef T Vector __attribute__((vector_size(Bytes)));
  /// Anywhere in memory.
  typedef T Unaligned __attribute__((vector_size(Bytes), aligned(sizeof(T)), may_alias));
  static constexpr int lanes = Bytes / static_cast<int>(sizeof(T));

  [[gnu::always_inline]] static inline Vector load(const T* from) noexcept {
    return *reinterpret_cast<const Unaligned*>(from);
  }
  [[gnu::always_inline]] static inline void store(T* to, Vector value) noexcept {
    *reinterpret_cast<Unaligned*>(to) = value;
  }
  [[gnu::always_inline]] static inline Vector all(T value) noexcept { return value - Vector{}; }
};

/// Exchanges b's blocks of `size` elements at even places with a's at odd ones.
template <int size, class Vector, int... l>
[[gnu::always_inline]] inline void exchange_blocks(Vector& a, Vector& b, std::integer_sequence<int, l...>) {
  constexpr int lanes = int(sizeof...(l));
  const Vector first = __builtin_shufflevector(a, b, ((l & size) == 0 ? l : lanes + l - size)...);
  b = __builtin_shufflevector(a, b, ((l & size) == 0 ? l + size : lanes + l)...);
  a = first;
}

/// Lanes of a and b in turn, from the lower, or upper, halves of each of their 16 bytes.
template <bool upper, class Vector, int... l>
[[gnu::always_inline]] inline Vector interleave(Vector a, Vector b, std::integer_sequence<int, l...>) {
  constexpr int lanes = int(sizeof...(l)), part = int(16 / sizeof(a[0]));
  return __builtin_shufflevector(a, b, (l / part * part + (l % part + upper * part) / 2 + l % 2 * lanes)...);
}

/// Transposes the squares that lie side by side in `count` vectors: blocks of at least 16 bytes change places, then
/// rounds of interleaving row i with row i + part / 2 transpose each 16 bytes of `part` rows.
template <int count, class Vector, int size = count / 2>
[[gnu::always_inline]] inline void transpose(Vector (&rows)[count]) {
  constexpr int element = int(sizeof(rows[0][0])), part = 16 / element;
  using Lanes = std::make_integer_sequence<int, int(sizeof(Vector)) / element>;
  static_assert(count >= part);
  if constexpr (size >= part) {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) {
      if ((i & size) == 0) exchange_blocks<size>(rows[i], rows[i + size], Lanes());
    }
    transpose<count, Vector, size / 2>(rows);
  } else {
#pragma GCC unroll 4
    for (int round = 1; round < part; round *= 2) {
      Vector next[count];
#pragma GCC unroll 16
      for (int i = 0; i < count; i += 2) {
        const Vector a = rows[i / part * part + i % part / 2], b = rows[i / part * part + i % part / 2 + part / 2];
        next[i] = interleave<false>(a, b, Lanes());
        next[i + 1] = interleave<true>(a, b, Lanes());
      }
#pragma GCC unroll 16
      for (int i = 0; i < count; ++i) rows[i] = next[i];
    }
  }
}

}  // namespace tyto::cpu
