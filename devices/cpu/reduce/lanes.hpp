// SPDX-License-Identifier: MIT
// Vectors of the instruction set that the including source is compiled for, and folding an array with them.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "devices/cpu/arithmetic/narrow_float.hpp"
#include "devices/cpu/reduce/fold_halves.hpp"
#include "devices/cpu/reduce/fold_order.hpp"

#if !defined(TYTO_ISA) || !defined(TYTO_VECTOR_BYTES)
#error "define TYTO_ISA and TYTO_VECTOR_BYTES before including this"
#endif

// Nothing here instantiates a standard template: such code would be shared by name between instruction sets, and the
// linker could keep the wrong one.
namespace tyto::cpu::TYTO_ISA {

template <class T>
struct Lanes : Simd<T, TYTO_VECTOR_BYTES> {
  using Base = Simd<T, TYTO_VECTOR_BYTES>;
  using Vector = typename Base::Vector;
  using Base::all, Base::load;
  static constexpr int count = Base::lanes;

  /// Whether a lane is one of the last `lanes`: in a vector that ends with an array, those not covered by the whole
  /// vectors before.
  [[gnu::always_inline]] static inline auto among_last(int lanes) {
    Vector number{};
    for (int k = 0; k < count; ++k) number[k] = static_cast<T>(k);
    return number >= all(static_cast<T>(count - lanes));
  }
};

/// The first lanes of a vector, fewer than all before AVX-512: memory behind them is neither read nor written.
template <class T>
class FirstLanes {
  using L = Lanes<T>;

 public:
  using Vector = typename L::Vector;

#if defined(__AVX512BW__)
  [[gnu::always_inline]] explicit FirstLanes(int count) : mask_((std::uint64_t{1} << count) - 1) {}

  [[gnu::always_inline]] Vector load(const T* from, T filling = 0) const {
    const __m512i others = (__m512i)L::all(filling);
    if constexpr (sizeof(T) == 1) return (Vector)_mm512_mask_loadu_epi8(others, mask_, from);
    if constexpr (sizeof(T) == 2) return (Vector)_mm512_mask_loadu_epi16(others, static_cast<__mmask32>(mask_), from);
    if constexpr (sizeof(T) == 4) return (Vector)_mm512_mask_loadu_epi32(others, static_cast<__mmask16>(mask_), from);
    if constexpr (sizeof(T) == 8) return (Vector)_mm512_mask_loadu_epi64(others, static_cast<__mmask8>(mask_), from);
  }
  [[gnu::always_inline]] void store(T* to, Vector value) const {
    static_assert(sizeof(T) >= 4, "narrower elements are only loaded");
    if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask_), (__m512i)value);
    else _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask_), (__m512i)value);
  }

 private:
  std::uint64_t mask_;
#else
  [[gnu::always_inline]] explicit FirstLanes(int count) : count_(count) {}

  [[gnu::always_inline]] Vector load(const T* from, T filling = 0) const {
#if defined(__AVX2__)
    // Combined by operators, which fall away where zeros fill.
    const __m256i others = (__m256i)L::all(filling);
    if constexpr (sizeof(T) == 4) {
      const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count_), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
      return (Vector)(_mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask) | (~mask & others));
    }
    if constexpr (sizeof(T) == 8) {
      const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count_), _mm256_setr_epi64x(0, 1, 2, 3));
      return (Vector)(_mm256_maskload_epi64(reinterpret_cast<const long long*>(from), mask) | (~mask & others));
    }
#endif
    Vector part = L::all(filling);
    if constexpr (L::count <= 4) {
#pragma GCC unroll 4
      for (int k = 0; k < L::count - 1; ++k) {
        if (k < count_) part[k] = from[k];
      }
    } else {
      __builtin_memcpy(&part, from, static_cast<std::size_t>(count_) * sizeof(T));
    }
    return part;
  }
  // In parts of half the lanes, a quarter and so on: on some processors a masked store of AVX takes as long as dozens
  // of others. Inlined: behind a call g++ 12 takes the registers' upper halves for cleared, and code for SSE that
  // follows waits for them.
  [[gnu::always_inline]] void store(T* to, Vector value) const {
    alignas(TYTO_VECTOR_BYTES) T lanes[L::count];
    L::store(lanes, value);
    const T* next = lanes;
#pragma GCC unroll 8
    for (int part = L::count / 2; part > 0; part /= 2) {
      if ((count_ & part) == 0) continue;
      __builtin_memcpy(to, next, static_cast<std::size_t>(part) * sizeof(T));
      to += part;
      next += part;
    }
  }

 private:
  int count_;
#endif
};

template <class Mask>
[[gnu::always_inline]] inline bool any_bit(const Mask& mask) {
  std::uint64_t words[TYTO_VECTOR_BYTES / 8], any = 0;
  static_assert(sizeof(words) == sizeof(mask));
  __builtin_memcpy(words, &mask, sizeof(mask));
  for (const std::uint64_t word : words) any |= word;
  return any != 0;
}

// Each works on single elements and on vectors of them.
struct Add {
  template <class V>
  [[gnu::always_inline]] static inline V apply(V a, V b) {
    return a + b;
  }
};
struct Multiply {
  template <class V>
  [[gnu::always_inline]] static inline V apply(V a, V b) {
    return a * b;
  }
};
struct Or {
  template <class V>
  [[gnu::always_inline]] static inline V apply(V a, V b) {
    return a | b;
  }
};
// A NaN in b is taken, one in a stays because no comparison with it holds.
struct Minimum {
  template <class V>
  [[gnu::always_inline]] static inline V apply(V a, V b) {
    return ((b < a) | (b != b)) ? b : a;
  }
  /// The same where b is no NaN.
  struct OfNumbers {
    template <class V>
    [[gnu::always_inline]] static inline V apply(V a, V b) {
      return b < a ? b : a;
    }
  };
};
struct Maximum {
  template <class V>
  [[gnu::always_inline]] static inline V apply(V a, V b) {
    return ((b > a) | (b != b)) ? b : a;
  }
  struct OfNumbers {
    template <class V>
    [[gnu::always_inline]] static inline V apply(V a, V b) {
      return b > a ? b : a;
    }
  };
};

/// Results that stand side by side, which for floats decides the order (fold_lanes). Integers have no order: enough
/// that no instruction waits for the one before.
template <class C>
inline constexpr int fold_accumulators = [] {
  constexpr int lanes = Lanes<C>::count, order = fold_lanes(static_cast<int>(sizeof(C)));
  if (!std::is_floating_point_v<C>) return 8;
  return order < lanes ? 1 : order / lanes;
}();

/// Op over start and source's elements, in an order that their number alone decides. `start` enters many times: it must
/// be Op's identity, or Op idempotent. source.vector(i) holds the elements from i on; source.rest(i, count, start) the
/// last ones from i on, and `start` in the lanes that are left over.
template <class Op, class C, class Source>
[[gnu::always_inline]] inline C fold_elements(const Source& source, std::int64_t count, C start) {
  using L = Lanes<C>;
  constexpr int accumulators = fold_accumulators<C>;
  typename L::Vector sums[accumulators];
#pragma GCC unroll 8
  for (int k = 0; k < accumulators; ++k) sums[k] = L::all(start);
  std::int64_t i = 0;
  for (; i + accumulators * L::count <= count; i += accumulators * L::count) {
#pragma GCC unroll 8
    for (int k = 0; k < accumulators; ++k) sums[k] = Op::apply(sums[k], source.vector(i + k * L::count));
  }
#pragma GCC unroll 8
  for (int k = 0; k < accumulators; ++k, i += L::count) {
    if (i + L::count > count) {
      if (i < count) sums[k] = Op::apply(sums[k], source.rest(i, count, start));
      break;
    }
    sums[k] = Op::apply(sums[k], source.vector(i));
  }
#pragma GCC unroll 4
  for (int half = accumulators / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
    for (int k = 0; k < half; ++k) sums[k] = Op::apply(sums[k], sums[k + half]);
  }
  return static_cast<C>(Op::apply(start, fold_halves<Op, C, TYTO_VECTOR_BYTES>(sums[0])));
}

template <class C>
struct ArrayElements {
  const C* x;
  [[gnu::always_inline]] inline typename Lanes<C>::Vector vector(std::int64_t i) const { return Lanes<C>::load(x + i); }
  [[gnu::always_inline]] inline typename Lanes<C>::Vector rest(std::int64_t i, std::int64_t count, C start) const {
    return FirstLanes<C>(static_cast<int>(count - i)).load(x + i, start);
  }
};

/// fold_array by a minimum or maximum where no element is NaN: one comparison each is enough then, and NaNs are looked
/// for aside. Returns whether there was none.
template <class Op, class C>
[[gnu::always_inline]] inline bool fold_numbers(const C* x, std::int64_t count, C start, C& result) {
  using L = Lanes<C>;
  using Mask = decltype(L::all(start) != L::all(start));
  struct Numbers {
    const C* x;
    Mask* unordered;
    [[gnu::always_inline]] inline typename L::Vector vector(std::int64_t i) const {
      const typename L::Vector value = L::load(x + i);
      *unordered |= value != value;
      return value;
    }
    [[gnu::always_inline]] inline typename L::Vector rest(std::int64_t i, std::int64_t length, C filling) const {
      const typename L::Vector value = ArrayElements<C>{x}.rest(i, length, filling);
      *unordered |= value != value;
      return value;
    }
  };
  Mask unordered{};
  result = fold_elements<typename Op::OfNumbers, C>(Numbers{x, &unordered}, count, start);
  return !any_bit(unordered);
}

template <class Op, class C>
C fold_array(const C* x, std::int64_t count, C start) {
  if constexpr (std::is_floating_point_v<C> && requires { typename Op::OfNumbers; }) {
    C result;
    if (fold_numbers<Op>(x, count, start, result)) return result;
  }
  return fold_elements<Op, C>(ArrayElements<C>{x}, count, start);
}

/// Elements of C that a line is converted to at a time; what follows reads them from L1.
inline constexpr std::int64_t line_block = fold_block;

/// `count` elements, `stride` apart, as an array of C: the elements themselves where they already are one.
template <class C, class T>
const C* as_array(const T* x, std::int64_t count, std::int64_t stride, C* buffer) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) buffer[i] = static_cast<C>(load_element(x[i]));
  } else {
    for (std::int64_t i = 0; i < count; ++i) buffer[i] = static_cast<C>(load_element(x[i * stride]));
  }
  return buffer;
}

/// Calls use(array, count, index of its first element) for the parts of a line; parts that need no conversion have up
/// to `whole` elements.
template <class C, class T, class Use>
[[gnu::always_inline]] inline void each_part(const T* x, std::int64_t count, std::int64_t stride, std::int64_t whole,
                                             const Use& use) {
  if constexpr (std::is_same_v<C, T>) {
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; i += whole) use(x + i, count - i < whole ? count - i : whole, i);
      return;
    }
  }
  C buffer[line_block];
  for (std::int64_t i = 0; i < count; i += line_block) {
    const std::int64_t part = count - i < line_block ? count - i : line_block;
    use(as_array(x + i * stride, part, stride, buffer), part, i);
  }
}

}  // namespace tyto::cpu::TYTO_ISA
