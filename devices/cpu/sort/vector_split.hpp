// SPDX-License-Identifier: MIT
// Intrinsics of each instruction set for sorting: the split of a vector's keys into two arrays.
#pragma once

#include <cstdint>

#include "devices/cpu/reduce/lanes.hpp"
#include "devices/cpu/sort/order_key.hpp"
#include "devices/cpu/sort/sort_loops.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tyto::cpu::TYTO_ISA {

/// The key of an element as wide as it, by its bits.
template <class T, class K>
[[gnu::always_inline]] inline K key_of(K bits) {
  return OrderKey<T>::of(__builtin_bit_cast(T, bits), false);
}

/// The same of a vector.
template <class T, class K>
[[gnu::always_inline]] inline typename Lanes<K>::Vector keys_of(typename Lanes<K>::Vector bits) {
  using L = Lanes<K>;
  using Key = OrderKey<T>;
  if constexpr (is_stored_float<T>) {
    const auto magnitude = bits & L::all(Key::magnitude_bits), sign = bits >> (8 * sizeof(K) - 1);
    return magnitude > L::all(infinity_bits<T>) ? L::all(Key::last) : (magnitude ^ sign) - sign;
  } else if constexpr (std::is_unsigned_v<T>) {
    return bits ^ L::all(static_cast<K>(~Key::magnitude_bits));
  } else {
    return bits;
  }
}

#if defined(__AVX2__)

/// A permutation for each mask of lanes: lanes of the mask in order, then the others; `Lanes32` lanes of four bytes.
template <int Lanes32, int Keys>
struct SplitOrders {
  std::uint8_t lanes[1 << Keys][8];
  constexpr SplitOrders() : lanes{} {
    constexpr int each = Lanes32 / Keys;
    for (int set = 0; set < 1 << Keys; ++set) {
      int next = 0;
      for (int chosen = 1; chosen >= 0; --chosen) {
        for (int key = 0; key < Keys; ++key) {
          if ((set >> key & 1) != chosen) continue;
          for (int part = 0; part < each; ++part) lanes[set][next++] = static_cast<std::uint8_t>(key * each + part);
        }
      }
    }
  }
};

#endif

#if defined(__AVX512F__)

template <class K>
[[gnu::always_inline]] inline __m512i as_integers(typename Lanes<K>::Vector v) {
  return (__m512i)v;
}

/// The lanes among `present` in which the keys a compare so with those of b, as bits.
template <class K, int comparison>
[[gnu::always_inline]] inline unsigned lanes_where(unsigned present, __m512i a, __m512i b) {
  if constexpr (sizeof(K) == 4) return _mm512_mask_cmp_epi32_mask(static_cast<__mmask16>(present), a, b, comparison);
  else return _mm512_mask_cmp_epi64_mask(static_cast<__mmask8>(present), a, b, comparison);
}

/// The chosen lanes in order, then zeros.
template <class K>
[[gnu::always_inline]] inline typename Lanes<K>::Vector chosen_first(__m512i v, unsigned chosen) {
  using Vector = typename Lanes<K>::Vector;
  if constexpr (sizeof(K) == 4) return (Vector)_mm512_maskz_compress_epi32(static_cast<__mmask16>(chosen), v);
  else return (Vector)_mm512_maskz_compress_epi64(static_cast<__mmask8>(chosen), v);
}

/// Puts those of `count` keys below `bound` in their order at the front of `to`, the others behind; returns how many
/// are below.
template <class K>
std::int64_t split(const K* keys, std::int64_t count, K bound, K* to) {
  using L = Lanes<K>;
  const __m512i limit = as_integers<K>(L::all(bound));
  K* low = to;
  K* high = to + count;
  const auto place = [&](__m512i v, unsigned present) {
    const unsigned below = lanes_where<K, _MM_CMPINT_LT>(present, v, limit);
    const unsigned above = present & ~below;
    const int lows = _mm_popcnt_u32(below), highs = _mm_popcnt_u32(above);
    high -= highs;
    FirstLanes<K>(lows).store(low, chosen_first<K>(v, below));
    FirstLanes<K>(highs).store(high, chosen_first<K>(v, above));
    low += lows;
  };
  constexpr unsigned all = (1u << L::count) - 1;
  std::int64_t i = 0;
  // Vectors are stored whole at both ends. Excess lanes of a store must fall into the space that is still free after
  // it: two vectors are left free for that.
  if constexpr (sizeof(K) == 4) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i + 2 * L::count <= count; i += L::count) {
      const __m512i v = as_integers<K>(L::load(keys + i));
      const __mmask16 below = _mm512_cmplt_epi32_mask(v, limit);
      const int lows = _mm_popcnt_u32(below);
      // The others to the end of their vector: lane numbers are taken modulo 16.
      const auto above = as_integers<K>(chosen_first<K>(v, ~static_cast<unsigned>(below)));
      const __m512i from = _mm512_sub_epi32(lanes, _mm512_set1_epi32(lows));
      L::store(low, chosen_first<K>(v, below));
      L::store(high - L::count, (typename L::Vector)_mm512_maskz_permutexvar_epi32(0xffff, from, above));
      low += lows;
      high -= L::count - lows;
    }
  } else {
    // Permutations by mask, in a table.
    static constexpr SplitOrders<8, L::count> orders{};
    for (; i + 2 * L::count <= count; i += L::count) {
      const __m512i v = as_integers<K>(L::load(keys + i));
      const unsigned below = _mm512_cmplt_epi64_mask(v, limit);
      const __m512i order =
          _mm512_maskz_cvtepu8_epi64(0xff, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(orders.lanes[below])));
      const auto ordered = (typename L::Vector)_mm512_maskz_permutexvar_epi64(0xff, order, v);
      const int lows = _mm_popcnt_u32(below);
      L::store(low, ordered);
      L::store(high - L::count, ordered);
      low += lows;
      high -= L::count - lows;
    }
  }
  for (; i + L::count <= count; i += L::count) place(as_integers<K>(L::load(keys + i)), all);
  if (i < count) {
    const int rest = static_cast<int>(count - i);
    place(as_integers<K>(FirstLanes<K>(rest).load(keys + i)), _bzhi_u32(~0u, static_cast<unsigned>(rest)));
  }
  return low - to;
}

/// Stores the first `lanes` keys, the whole vector where it fits.
template <class K>
[[gnu::always_inline]] inline void store_within(K* to, const K* end, int lanes, typename Lanes<K>::Vector v) {
  if (end - to >= Lanes<K>::count) Lanes<K>::store(to, v);
  else if (lanes > 0) FirstLanes<K>(lanes).store(to, v);
}

/// Calls place(elements, lanes that are present). Only the last load is masked: processors do not learn from masked
/// loads what to prefetch.
template <class K, class Place>
[[gnu::always_inline]] inline void each_vector(const K* x, std::int64_t count, const Place& place) {
  using L = Lanes<K>;
  std::int64_t i = 0;
  for (; i + L::count <= count; i += L::count) place(L::load(x + i), (1u << L::count) - 1);
  if (i < count) {
    const int rest = static_cast<int>(count - i);
    place(FirstLanes<K>(rest).load(x + i), _bzhi_u32(~0u, static_cast<unsigned>(rest)));
  }
}

template <class T, class K>
std::int64_t keep(const void* elements, std::int64_t count, K least, K greatest, K* to, std::int64_t& below) {
  using L = Lanes<K>;
  const auto* x = static_cast<const K*>(elements);
  const __m512i from = as_integers<K>(L::all(least)), upto = as_integers<K>(L::all(greatest));
  K* next = to;
  std::int64_t upwards = 0;
  const auto place = [&](typename L::Vector taken, unsigned present) {
    const __m512i v = as_integers<K>(keys_of<T, K>(taken));
    const unsigned above = lanes_where<K, _MM_CMPINT_NLT>(present, v, from);
    const unsigned kept = lanes_where<K, _MM_CMPINT_LE>(above, v, upto);
    upwards += _mm_popcnt_u32(above);
    L::store(next, chosen_first<K>(v, kept));
    next += _mm_popcnt_u32(kept);
  };
  each_vector(x, count, place);
  below = count - upwards;
  return next - to;
}

template <class T, class K>
PartedCounts part_around(const void* elements, std::int64_t count, K middle, ElementRoom<K> below,
                         ElementRoom<K> above) {
  using L = Lanes<K>;
  const auto* x = static_cast<const K*>(elements);
  const __m512i limit = as_integers<K>(L::all(middle));
  K *low = below.begin, *high = above.begin;
  const auto place = [&](typename L::Vector v, unsigned present) {
    const __m512i keys = as_integers<K>(keys_of<T, K>(v)), bits = as_integers<K>(v);
    const unsigned lows = lanes_where<K, _MM_CMPINT_LT>(present, keys, limit);
    const unsigned highs = lanes_where<K, _MM_CMPINT_NLE>(present, keys, limit);
    store_within(low, below.end, _mm_popcnt_u32(lows), chosen_first<K>(bits, lows));
    store_within(high, above.end, _mm_popcnt_u32(highs), chosen_first<K>(bits, highs));
    low += _mm_popcnt_u32(lows);
    high += _mm_popcnt_u32(highs);
  };
  each_vector(x, count, place);
  return {low - below.begin, high - above.begin};
}

#else

#if defined(__AVX2__)

template <class K>
inline constexpr SplitOrders<8, Lanes<K>::count> split_orders{};

/// The lanes for which `chosen` is all ones, as bits.
template <class K>
[[gnu::always_inline]] inline unsigned bits_of(__m256i chosen) {
  if constexpr (sizeof(K) == 4) return static_cast<unsigned>(_mm256_movemask_ps((__m256)chosen));
  else return static_cast<unsigned>(_mm256_movemask_pd((__m256d)chosen));
}

/// The chosen lanes in order, then the others.
template <class K>
[[gnu::always_inline]] inline typename Lanes<K>::Vector chosen_first(typename Lanes<K>::Vector v, unsigned chosen) {
  const __m256i order =
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(split_orders<K>.lanes[chosen])));
  return (typename Lanes<K>::Vector)_mm256_permutevar8x32_epi32((__m256i)v, order);
}

#endif

template <class K>
std::int64_t split(const K* keys, std::int64_t count, K bound, K* to) {
  K* low = to;
  K* high = to + count;
  std::int64_t i = 0;
#if defined(__AVX2__)
  // Each vector is stored whole at both ends. Excess lanes of a store must fall into the space that is still free after
  // it: two vectors are left free for that.
  using L = Lanes<K>;
  using Vector = typename L::Vector;
  const Vector limit = L::all(bound);
  for (; i + 2 * L::count <= count; i += L::count) {
    const Vector v = L::load(keys + i);
    const unsigned below = bits_of<K>((__m256i)(v < limit));
    const Vector ordered = chosen_first<K>(v, below);
    const int lows = _mm_popcnt_u32(below);
    L::store(low, ordered);
    L::store(high - L::count, ordered);
    low += lows;
    high -= L::count - lows;
  }
#endif
  for (; i < count; ++i) {
    // Written at both ends, and kept by advancing one of them: no branch depends on the keys.
    const K key = keys[i];
    const auto below = static_cast<std::int64_t>(key < bound);
    *low = key;
    high[-1] = key;
    low += below;
    high -= 1 - below;
  }
  return low - to;
}

template <class T, class K>
std::int64_t keep(const void* elements, std::int64_t count, K least, K greatest, K* to, std::int64_t& below) {
  const auto* x = static_cast<const K*>(elements);
  K* next = to;
  std::int64_t i = 0;
  below = 0;
#if defined(__AVX2__)
  using L = Lanes<K>;
  for (; i + L::count <= count; i += L::count) {
    const typename L::Vector v = keys_of<T, K>(L::load(x + i));
    const auto above = v >= L::all(least);
    below += L::count - _mm_popcnt_u32(bits_of<K>((__m256i)above));
    const unsigned kept = bits_of<K>((__m256i)(above & (v <= L::all(greatest))));
    L::store(next, chosen_first<K>(v, kept));
    next += _mm_popcnt_u32(kept);
  }
#endif
  for (; i < count; ++i) {
    const K key = key_of<T>(x[i]);
    *next = key;
    below += static_cast<std::int64_t>(key < least);
    next += static_cast<std::int64_t>(key >= least) & static_cast<std::int64_t>(key <= greatest);
  }
  return next - to;
}

template <class T, class K>
PartedCounts part_around(const void* elements, std::int64_t count, K middle, ElementRoom<K> below,
                         ElementRoom<K> above) {
  const auto* x = static_cast<const K*>(elements);
  K *low = below.begin, *high = above.begin;
  std::int64_t i = 0;
#if defined(__AVX2__)
  using L = Lanes<K>;
  for (; i + L::count <= count && below.end - low >= L::count && above.end - high >= L::count; i += L::count) {
    const typename L::Vector v = L::load(x + i), keys = keys_of<T, K>(v);
    const unsigned lows = bits_of<K>((__m256i)(keys < L::all(middle)));
    const unsigned highs = bits_of<K>((__m256i)(keys > L::all(middle)));
    L::store(low, chosen_first<K>(v, lows));
    L::store(high, chosen_first<K>(v, highs));
    low += _mm_popcnt_u32(lows);
    high += _mm_popcnt_u32(highs);
  }
#endif
  for (; i < count; ++i) {
    const K bits = x[i], key = key_of<T>(bits);
    if (key < middle) *low++ = bits;
    if (key > middle) *high++ = bits;
  }
  return {low - below.begin, high - above.begin};
}

#endif

/// keys[index] for each lane.
template <class K>
[[gnu::always_inline]] inline typename Lanes<K>::Vector gather(const K* keys, typename Lanes<K>::Vector index) {
  using Vector = typename Lanes<K>::Vector;
#if defined(__AVX512F__)
  const __m512i at = as_integers<K>(index);
  if constexpr (sizeof(K) == 4) return (Vector)_mm512_mask_i32gather_epi32(at, 0xffff, at, keys, 4);
  else return (Vector)_mm512_mask_i64gather_epi64(at, 0xff, at, keys, 8);
#elif defined(__AVX2__)
  if constexpr (sizeof(K) == 4) return (Vector)_mm256_i32gather_epi32(keys, (__m256i)index, 4);
  else return (Vector)_mm256_i64gather_epi64(reinterpret_cast<const long long*>(keys), (__m256i)index, 8);
#else
  Vector v;
  for (int k = 0; k < Lanes<K>::count; ++k) v[k] = keys[index[k]];
  return v;
#endif
}

}  // namespace tyto::cpu::TYTO_ISA
