// SPDX-License-Identifier: MIT
// The lanes of a vector folded into one: the upper half into the lower one, again and again.
//
// For sources that are compiled once an instruction set: nothing here has a name outside of the including one, so that
// the linker cannot take code for another set.
#pragma once

#include "devices/cpu/arithmetic/simd.hpp"

namespace tyto::cpu {

namespace {

struct AddLanes {
  template <class V>
  [[gnu::always_inline]] static inline V apply(V a, V b) {
    return a + b;
  }
};

/// Op of all lanes, Op::apply working on single elements and on vectors of any length.
template <class Op, class C, int Bytes>
[[gnu::always_inline]] inline C fold_halves(typename Simd<C, Bytes>::Vector lanes) {
  if constexpr (Bytes > 16) {
    typename Simd<C, Bytes / 2>::Vector low, high;
    __builtin_memcpy(&low, &lanes, Bytes / 2);
    __builtin_memcpy(&high, reinterpret_cast<const char*>(&lanes) + Bytes / 2, Bytes / 2);
    return fold_halves<Op, C, Bytes / 2>(Op::apply(low, high));
  } else {
    constexpr int count = Bytes / static_cast<int>(sizeof(C));
    C single[count];
#pragma GCC unroll 16
    for (int k = 0; k < count; ++k) single[k] = lanes[k];
#pragma GCC unroll 4
    for (int half = count / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k) single[k] = static_cast<C>(Op::apply(single[k], single[k + half]));
    }
    return single[0];
  }
}

}  // namespace

}  // namespace tyto::cpu
