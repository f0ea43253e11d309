// The compiled loops of sorting: elements as keys and back, keys sorted, selected and split, for each instruction set.
#pragma once

#include <cstdint>

#include <tyto/dtype.hpp>

#include "devices/cpu/instruction_set.hpp"

namespace tyto::cpu {

/// Loops over keys of type K. Each is given two arrays of `count` keys, and leaves anything in what is not its result.
template <class K>
struct KeyLoops {
  /// Sorts `keys`.
  void (*sort)(K* keys, K* other, std::int64_t count);
  /// found[i] = the key that sorting would put at ranks[i]; ranks ascend.
  void (*select)(K* keys, K* other, std::int64_t count, const std::int64_t* ranks, int wanted, K* found);
  /// Puts the keys below `bound` at the front of `to`, the others behind them; returns how many are below.
  std::int64_t (*split)(const K* keys, std::int64_t count, K bound, K* to);
  /// Puts the keys from `least` to `greatest` in their order at the front of `to`, which has room for a vector more;
  /// returns how many.
  std::int64_t (*keep)(const K* keys, std::int64_t count, K least, K greatest, K* to);
  /// found[i] = how many of the sorted keys, fewer than 2^31, are below values[i], or with `after` not above it.
  void (*search)(const K* keys, std::int64_t count, const K* values, std::int64_t wanted, bool after,
                 std::int64_t* found);
  /// Keys and their indices as numbers that order by key, then index; the index is in the low `index_bits`. Returns
  /// how many low bits of the keys found no room: 0 unless 64-bit keys span more than the 63 - index_bits left.
  int (*pack)(const K* keys, std::int64_t count, int index_bits, std::int64_t* packed);
};

/// Loops over elements of one type. Keys are of 64 bits for elements as wide, else of 32.
struct ElementLoops {
  /// Elements that lie side by side as keys; returns whether a negative zero, which has the key of zero, is among them.
  bool (*encode)(const void* elements, std::int64_t count, bool descending, void* keys);
  void (*decode)(const void* keys, std::int64_t count, bool descending, void* elements);
};

struct SortLoops {
  KeyLoops<std::int32_t> narrow;
  KeyLoops<std::int64_t> wide;
  ElementLoops (*elements)(DType dtype);
};

namespace baseline {
extern const SortLoops sort_loops;
}
namespace avx2 {
extern const SortLoops sort_loops;
}
namespace avx512 {
extern const SortLoops sort_loops;
}

/// The loops for an instruction set.
inline const SortLoops& sort_loops_of(InstructionSet set) {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::sort_loops;
  if (set == InstructionSet::avx2) return avx2::sort_loops;
#endif
  static_cast<void>(set);
  return baseline::sort_loops;
}

}  // namespace tyto::cpu
