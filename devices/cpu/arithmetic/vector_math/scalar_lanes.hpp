// SPDX-License-Identifier: MIT
// Lanes as scalars: the types and primitive functions of the vector mathematics where the compiler makes the vectors.
//
// Every loop over these functions vectorises under -O3 -fno-math-errno -fno-trapping-math, with the vectors of the
// instruction set that the translation unit is compiled for. Products and sums are rounded one by one
// (-ffp-contract=off) but for mul_add, so that the code recorded from the same functions gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef TYTO_ISA
#error "define TYTO_ISA (baseline, avx2 or avx512) before including the vector mathematics"
#endif

#define TYTO_VECTOR_INLINE static inline __attribute__((always_inline))

namespace tyto::cpu::TYTO_ISA {

using std::int32_t;
using std::int64_t;
using std::size_t;
using std::uint32_t;
using std::uint64_t;

using f32 = float;
using f64 = double;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using mask = bool;

TYTO_VECTOR_INLINE u32 bits_of(f32 x) { return __builtin_bit_cast(u32, x); }
TYTO_VECTOR_INLINE u64 bits_of(f64 x) { return __builtin_bit_cast(u64, x); }
TYTO_VECTOR_INLINE f32 from_bits(u32 x) { return __builtin_bit_cast(f32, x); }
TYTO_VECTOR_INLINE f64 from_bits(u64 x) { return __builtin_bit_cast(f64, x); }

template <class T>
TYTO_VECTOR_INLINE T select(mask condition, T yes, T no) {
  return condition ? yes : no;
}

TYTO_VECTOR_INLINE f32 sqrt(f32 x) { return __builtin_sqrtf(x); }
TYTO_VECTOR_INLINE f64 sqrt(f64 x) { return __builtin_sqrt(x); }

#if defined(__FMA__) || defined(__aarch64__)
#define TYTO_FUSED_MULTIPLY_ADD 1
/// a * b + c, rounded once where the instruction set does so at no cost.
TYTO_VECTOR_INLINE f32 mul_add(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
TYTO_VECTOR_INLINE f64 mul_add(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
#else
#define TYTO_FUSED_MULTIPLY_ADD 0
TYTO_VECTOR_INLINE f32 mul_add(f32 a, f32 b, f32 c) { return a * b + c; }
TYTO_VECTOR_INLINE f64 mul_add(f64 a, f64 b, f64 c) { return a * b + c; }
#endif
TYTO_VECTOR_INLINE i32 mul_add(i32 a, i32 b, i32 c) { return a * b + c; }
TYTO_VECTOR_INLINE i64 mul_add(i64 a, i64 b, i64 c) { return a * b + c; }
TYTO_VECTOR_INLINE u64 mul_add(u64 a, u64 b, u64 c) { return a * b + c; }

/// Whether scale(x, n) is one instruction of the lanes.
#define TYTO_SCALING_INSTRUCTION 0

#if defined(__SSE4_1__) || defined(__aarch64__)
TYTO_VECTOR_INLINE f32 rint(f32 x) { return __builtin_rintf(x); }
TYTO_VECTOR_INLINE f64 rint(f64 x) { return __builtin_rint(x); }
TYTO_VECTOR_INLINE f32 floor(f32 x) { return __builtin_floorf(x); }
TYTO_VECTOR_INLINE f64 floor(f64 x) { return __builtin_floor(x); }
TYTO_VECTOR_INLINE f32 ceil(f32 x) { return __builtin_ceilf(x); }
TYTO_VECTOR_INLINE f64 ceil(f64 x) { return __builtin_ceil(x); }
TYTO_VECTOR_INLINE f32 trunc(f32 x) { return __builtin_truncf(x); }
TYTO_VECTOR_INLINE f64 trunc(f64 x) { return __builtin_trunc(x); }
#define TYTO_ROUNDING_INSTRUCTIONS 1
#else
#define TYTO_ROUNDING_INSTRUCTIONS 0
#endif

}  // namespace tyto::cpu::TYTO_ISA
