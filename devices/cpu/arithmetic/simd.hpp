// SPDX-License-Identifier: MIT
// Vectors of so many bytes, as types of the compiler.
//
// For sources that are compiled once an instruction set: what is here is inlined always, so that the linker finds no
// code to share between sets.
#pragma once

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

}  // namespace tyto::cpu
