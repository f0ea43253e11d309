// SPDX-License-Identifier: MIT
// Compaction by masks, compiled once an instruction set.
#include "devices/cpu/sort/compaction/compaction.hpp"
#include "devices/cpu/sort/vector_split.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

std::int64_t count(const std::uint8_t* mask, std::int64_t count) {
  std::int64_t total = 0;
  // Sums of bytes that cannot overflow, so that a vector adds as many bytes as it has.
  constexpr std::int64_t together = 255;
  std::int64_t i = 0;
  std::uint8_t sums[64] = {};
  while (i + 64 <= count) {
    for (std::uint8_t& sum : sums) sum = 0;
    for (std::int64_t round = 0; round < together && i + 64 <= count; ++round, i += 64) {
      for (int k = 0; k < 64; ++k) sums[k] = static_cast<std::uint8_t>(sums[k] + (mask[i + k] != 0));
    }
    for (const std::uint8_t sum : sums) total += sum;
  }
  for (; i < count; ++i) total += mask[i] != 0;
  return total;
}

#if defined(__AVX2__)
/// Bit k tells whether byte k of 32 is not zero.
[[gnu::always_inline]] inline std::uint32_t mask_bits(const std::uint8_t* mask) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask));
  return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())));
}
#endif

/// Stores the lanes that `chosen` names, side by side; a whole vector where there is room for it.
template <class K>
[[gnu::always_inline]] inline K* store_chosen(K* next, const K* end, typename Lanes<K>::Vector v, unsigned chosen) {
  static_cast<void>(end), static_cast<void>(v), static_cast<void>(chosen);
#if defined(__AVX512F__)
  const int kept = _mm_popcnt_u32(chosen);
  FirstLanes<K>(kept).store(next, chosen_first<K>(as_integers<K>(v), chosen));
  return next + kept;
#elif defined(__AVX2__)
  const int kept = _mm_popcnt_u32(chosen);
  const auto packed = chosen_first<K>(v, chosen);
  if (end - next >= Lanes<K>::count) Lanes<K>::store(next, packed);
  else FirstLanes<K>(kept).store(next, packed);
  return next + kept;
#else
  return next;
#endif
}

template <class K>
void pick_vectors(const void* elements, const std::uint8_t* mask, std::int64_t kept, std::int64_t count, void* to) {
  const K* x = static_cast<const K*>(elements);
  K* next = static_cast<K*>(to);
  K* const end = next + kept;
  std::int64_t i = 0;
#if defined(__AVX2__)
  using L = Lanes<K>;
  for (; i + 32 <= count; i += 32) {
    const std::uint32_t bits = mask_bits(mask + i);
    for (int k = 0; k < 32; k += L::count) {
      next = store_chosen<K>(next, end, L::load(x + i + k), bits >> k & ((1u << L::count) - 1));
    }
  }
#endif
  static_cast<void>(count);
  // Written always, kept by counting on; what is behind the last one chosen is not there to be written to.
  for (; next < end; ++i) {
    *next = x[i];
    next += mask[i] != 0 ? 1 : 0;
  }
}

template <class E>
void pick_scalars(const void* elements, const std::uint8_t* mask, std::int64_t kept, std::int64_t, void* to) {
  const E* x = static_cast<const E*>(elements);
  E* next = static_cast<E*>(to);
  E* const end = next + kept;
  for (std::int64_t i = 0; next < end; ++i) {
    *next = x[i];
    next += mask[i] != 0 ? 1 : 0;
  }
}

struct Pair {
  std::uint64_t halves[2];
};

void positions(const std::uint8_t* mask, std::int64_t kept, std::int64_t count, std::int64_t* to) {
  std::int64_t* next = to;
  std::int64_t* const end = to + kept;
  std::int64_t i = 0;
#if defined(__AVX2__)
  using L = Lanes<std::int64_t>;
  L::Vector place{};
  for (int k = 0; k < L::count; ++k) place[k] = k;
  for (; i + 32 <= count; i += 32) {
    const std::uint32_t bits = mask_bits(mask + i);
    for (int k = 0; k < 32; k += L::count) {
      next = store_chosen<std::int64_t>(next, end, place, bits >> k & ((1u << L::count) - 1));
      place += L::all(L::count);
    }
  }
#endif
  static_cast<void>(count);
  for (; next < end; ++i) {
    *next = i;
    next += mask[i] != 0 ? 1 : 0;
  }
}

}  // namespace

const CompactionLoops compaction_loops = {count,
                                          pick_scalars<std::uint8_t>,
                                          pick_scalars<std::uint16_t>,
                                          pick_vectors<std::int32_t>,
                                          pick_vectors<std::int64_t>,
                                          pick_scalars<Pair>,
                                          positions};

}  // namespace tyto::cpu::TYTO_ISA
