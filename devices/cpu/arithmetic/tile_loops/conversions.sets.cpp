// SPDX-License-Identifier: MIT
// Loops that convert between every two element types, and between contiguous and strided memory, compiled for TYTO_ISA.
#include "core/value/half_bits.hpp"
#include "devices/cpu/arithmetic/independent_loop.hpp"
#include "devices/cpu/arithmetic/scalar_functions.hpp"
#include "devices/cpu/arithmetic/simd.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tyto::cpu::TYTO_ISA {

namespace {

/// An element as stored, and the `Value` that it is computed with; `load` makes one of a stored element, `store` a
/// stored element of any value. The kind tells bool and u8 apart, and f16 and bf16.
template <char kind, class S, class V>
struct Element {
  using Stored = S;
  using Value = V;
};
using Bool = Element<'t', uint8_t, int32_t>;
using U8 = Element<'u', uint8_t, int32_t>;
using I8 = Element<'i', int8_t, int32_t>;
using I16 = Element<'i', int16_t, int32_t>;
using I32 = Element<'i', int32_t, int32_t>;
using I64 = Element<'i', int64_t, int64_t>;
using U16 = Element<'u', uint16_t, int32_t>;
using U32 = Element<'u', uint32_t, int64_t>;
using U64 = Element<'u', uint64_t, uint64_t>;
using F16 = Element<'f', uint16_t, float>;
using BF16 = Element<'b', uint16_t, float>;
using F32 = Element<'f', float, float>;
using F64 = Element<'f', double, double>;

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;
template <class T>
constexpr bool floating = same<T, float> || same<T, double>;

/// A float that rounds to 16 bits as `value` itself would: towards zero, the last bit set if anything was lost.
TYTO_VECTOR_INLINE float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  const uint32_t beyond = abs(back) > abs(value) ? 1u : 0u;
  const uint32_t inexact = back != value && value == value ? 1u : 0u;
  return from_bits((bits_of(nearest) - beyond) | inexact);
}

/// A double that rounds to 16 bits as `value` itself would.
TYTO_VECTOR_INLINE double round_to_odd(int64_t value) {
  const bool wide = value > (int64_t{1} << 53) || value < -(int64_t{1} << 53);
  const int64_t lost = (value & 0x7ff) != 0 ? 0x800 : 0;
  return static_cast<double>(wide ? ((value & ~int64_t{0x7ff}) | lost) : value);
}

TYTO_VECTOR_INLINE double round_to_odd(uint64_t value) {
  const uint64_t lost = (value & 0x7ff) != 0 ? 0x800 : 0;
  return static_cast<double>(value > (uint64_t{1} << 53) ? ((value & ~uint64_t{0x7ff}) | lost) : value);
}

/// Truncated towards zero; the nearest end of [low, high] beyond it, 0 for NaN. `below` and `above` are the largest
/// values of type T within that range.
template <class Integer, class T>
TYTO_VECTOR_INLINE Integer saturate(T value, T lowest, T highest, Integer low, Integer high) {
  const T inside = select(value >= lowest, select(value <= highest, value, T(0)), T(0));
  const Integer whole = static_cast<Integer>(inside);
  return value > highest ? high : value < lowest ? low : whole;
}

template <class E>
TYTO_VECTOR_INLINE typename E::Value load(typename E::Stored stored) {
  if constexpr (same<E, F16>) {
    return core::widen_half(stored);
  } else if constexpr (same<E, BF16>) {
    return core::widen_bfloat(stored);
  } else {
    return static_cast<typename E::Value>(stored);
  }
}

template <class E, class Value>
TYTO_VECTOR_INLINE typename E::Stored store(Value value) {
  using Stored = typename E::Stored;
  if constexpr (same<E, Bool>) {
    return value != 0;
  } else if constexpr (same<E, F16>) {
    if constexpr (same<Value, double>) return core::narrow_to_half(round_to_odd(value));
    else return core::narrow_to_half(static_cast<float>(value));
  } else if constexpr (same<E, BF16>) {
    if constexpr (same<Value, float>) return core::narrow_to_bfloat(value);
    else if constexpr (same<Value, int64_t> || same<Value, uint64_t>)
      return core::narrow_to_bfloat(round_to_odd(round_to_odd(value)));
    else return core::narrow_to_bfloat(round_to_odd(static_cast<double>(value)));
  } else if constexpr (floating<Stored> || !floating<Value>) {
    return static_cast<Stored>(value);
  } else if constexpr (same<Stored, int64_t>) {
    constexpr Value highest = same<Value, float> ? Value(0x1.fffffep62) : Value(0x1.fffffffffffffp62);
    return saturate<int64_t, Value>(value, Value(-0x1p63), highest, INT64_MIN, INT64_MAX);
  } else if constexpr (same<Stored, uint64_t>) {
    constexpr Value highest = same<Value, float> ? Value(0x1.fffffep63) : Value(0x1.fffffffffffffp63);
    return saturate<uint64_t, Value>(value, Value(0), highest, 0, UINT64_MAX);
  } else if constexpr (same<Stored, int32_t>) {
    constexpr Value highest = same<Value, float> ? Value(0x1.fffffep30) : Value(0x1p31 - 0x1p-21);
    return saturate<int32_t, Value>(value, Value(-0x1p31), highest, INT32_MIN, INT32_MAX);
  } else if constexpr (same<Stored, uint32_t>) {
    constexpr Value highest = same<Value, float> ? Value(0x1.fffffep31) : Value(0x1.fffffffffffffp31);
    return static_cast<uint32_t>(saturate<int64_t, Value>(value, Value(0), highest, 0, UINT32_MAX));
  } else {
    constexpr bool is_unsigned = static_cast<Stored>(-1) > 0;
    constexpr int bits = 8 * sizeof(Stored);
    constexpr int32_t high = is_unsigned ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
    constexpr int32_t low = is_unsigned ? 0 : -(1 << (bits - 1));
    return static_cast<Stored>(saturate<int32_t, Value>(value, Value(low), Value(high), low, high));
  }
}

template <class From, class To>
void convert(void* out, const void* a, const void*, const void*, size_t n) {
  if constexpr (same<From, To>) {
    if (out != a) __builtin_memcpy(out, a, n * sizeof(typename To::Stored));
  } else {
    auto* to = static_cast<typename To::Stored*>(out);
    const auto* from = static_cast<const typename From::Stored*>(a);
    size_t i = 0;
#if defined(__F16C__)
    if constexpr (same<From, F16> && same<To, F32>) {
      for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
      }
    }
    if constexpr (same<From, F32> && same<To, F16>) {
      for (; i + 8 <= n; i += 8) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
      }
    }
#endif
    TYTO_INDEPENDENT
    for (; i < n; ++i) to[i] = store<To>(load<From>(from[i]));
  }
}

template <class T>
TYTO_VECTOR_INLINE T read(const char* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void gather(void* to, const void* from, ptrdiff_t stride, size_t n) {
  T* out = static_cast<T*>(to);
  const char* in = static_cast<const char*>(from);
  if (stride == 0) {
    const T value = read<T>(in);
    for (size_t i = 0; i < n; ++i) out[i] = value;
    return;
  }
  if (stride == ptrdiff_t{sizeof(T)}) {
    __builtin_memcpy(to, from, n * sizeof(T));
    return;
  }
  for (size_t i = 0; i < n; ++i) out[i] = read<T>(in + static_cast<ptrdiff_t>(i) * stride);
}

template <class T>
void scatter(void* to, const void* from, ptrdiff_t stride, size_t n) {
  if (stride == ptrdiff_t{sizeof(T)}) {
    __builtin_memcpy(to, from, n * sizeof(T));
    return;
  }
  char* out = static_cast<char*>(to);
  const T* in = static_cast<const T*>(from);
  for (size_t i = 0; i < n; ++i) __builtin_memcpy(out + static_cast<ptrdiff_t>(i) * stride, in + i, sizeof(T));
}

template <class V, class Half>
TYTO_VECTOR_INLINE V joined(Half a, Half b) {
  if constexpr (sizeof(a[0]) == 8) return __builtin_shufflevector(a, b, 0, 1, 2, 3);
  else return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

#if defined(__AVX__)
constexpr bool squares_together = true;
#else
constexpr bool squares_together = false;
#endif

/// In squares of vectors, of which `Squares` are side by side in vectors of 32 bytes. The columns from `column` on that
/// fill squares; returns the first that is left.
template <class T, size_t Squares>
size_t transpose_squares(T* out, size_t pitch, const char* in, ptrdiff_t column_stride, size_t rows, size_t columns,
                         size_t column) {
  constexpr size_t lanes = 16 / sizeof(T), width = lanes * Squares;
  using Half = typename Simd<T, 16>::Vector;
  using Vector = typename Simd<T, 16 * Squares>::Vector;
  const auto source = [&](size_t row, size_t of) {
    return in + static_cast<ptrdiff_t>(of) * column_stride + row * sizeof(T);
  };
  const ptrdiff_t end = static_cast<ptrdiff_t>(columns - 1) * column_stride + static_cast<ptrdiff_t>(rows * sizeof(T));
  for (; column + width <= columns; column += width) {
    for (size_t row = 0; row < rows; row += lanes) {
      // The last vectors reach into what comes behind their columns, if elements of others: dropped, whoever writes it.
      const size_t filled = rows - row < lanes ? rows - row : lanes;
      if (filled < lanes && (column_stride < 0 || source(row + lanes, column + width - 1) > in + end)) {
        for (size_t of = column; of < column + width; ++of) {
          for (size_t last = row; last < rows; ++last) out[last * pitch + of] = read<T>(source(last, of));
        }
        break;
      }
      Vector square[lanes];
#pragma GCC unroll 16
      for (size_t i = 0; i < lanes; ++i) {
        const Half first = read<Half>(source(row, column + i));
        if constexpr (Squares == 1) square[i] = first;
        else square[i] = joined<Vector>(first, read<Half>(source(row, column + lanes + i)));
      }
      cpu::transpose(square);
#pragma GCC unroll 16
      for (size_t i = 0; i < lanes; ++i) {
        if (i < filled) __builtin_memcpy(out + (row + i) * pitch + column, &square[i], 16 * Squares);
      }
    }
  }
  return column;
}

/// Of elements of at least 32 bits two squares at a time, where there are vectors of 32 bytes. Runs of the source are
/// read in order; the target stays in the caches.
template <class T>
void transpose(void* to, size_t pitch, const void* from, ptrdiff_t column_stride, size_t rows, size_t columns) {
  const char* in = static_cast<const char*>(from);
  T* out = static_cast<T*>(to);
  size_t column = 0;
  if constexpr (squares_together && sizeof(T) >= 4)
    column = transpose_squares<T, 2>(out, pitch, in, column_stride, rows, columns, column);
  column = transpose_squares<T, 1>(out, pitch, in, column_stride, rows, columns, column);
  for (; column < columns; ++column) {
    const char* const run = in + static_cast<ptrdiff_t>(column) * column_stride;
    for (size_t row = 0; row < rows; ++row) out[row * pitch + column] = read<T>(run + row * sizeof(T));
  }
}

}  // namespace

#define TYTO_FROM(From)                                                                                               \
  {                                                                                                                   \
    convert<From, Bool>, convert<From, U8>, convert<From, I8>, convert<From, I16>, convert<From, I32>,                \
        convert<From, I64>, convert<From, F16>, convert<From, BF16>, convert<From, F32>, convert<From, F64>, nullptr, \
        nullptr, convert<From, U16>, convert<From, U32>, convert<From, U64>                                           \
  }
const TileLoop conversions[element_types][element_types] = {TYTO_FROM(Bool),
                                                            TYTO_FROM(U8),
                                                            TYTO_FROM(I8),
                                                            TYTO_FROM(I16),
                                                            TYTO_FROM(I32),
                                                            TYTO_FROM(I64),
                                                            TYTO_FROM(F16),
                                                            TYTO_FROM(BF16),
                                                            TYTO_FROM(F32),
                                                            TYTO_FROM(F64),
                                                            {},
                                                            {},
                                                            TYTO_FROM(U16),
                                                            TYTO_FROM(U32),
                                                            TYTO_FROM(U64)};
#undef TYTO_FROM

const StridedLoop gathers[element_widths] = {gather<uint8_t>, gather<uint16_t>, gather<uint32_t>, gather<uint64_t>};
const StridedLoop scatters[element_widths] = {scatter<uint8_t>, scatter<uint16_t>, scatter<uint32_t>,
                                              scatter<uint64_t>};
const TransposeLoop transposes[element_widths] = {transpose<uint8_t>, transpose<uint16_t>, transpose<uint32_t>,
                                                  transpose<uint64_t>};

}  // namespace tyto::cpu::TYTO_ISA
