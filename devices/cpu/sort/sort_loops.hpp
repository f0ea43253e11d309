// SPDX-License-Identifier: MIT
// The compiled loops of sorting: elements as keys and back, keys sorted, selected and split, for each instruction set.
#pragma once

#include <cstdint>

#include <tyto/dtype.hpp>

#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

/// Short lines are sorted side by side, so many at a time, and none is longer than this.
inline constexpr std::int64_t lines_beside = 64, longest_short_line = 15;

/// Loops over keys of type K. Each is given two arrays of `count` keys, and leaves anything in what is not its result.
template <class K>
struct KeyLoops {
  void (*sort)(K* keys, K* other, std::int64_t count);
  /// found[i] = the key that sorting would put at ranks[i]; ranks ascend.
  void (*select)(K* keys, K* other, std::int64_t count, const std::int64_t* ranks, int wanted, K* found);
  /// Puts the keys below `bound` at the front of `to`, the others behind them; returns how many are below.
  std::int64_t (*split)(const K* keys, std::int64_t count, K bound, K* to);
  /// How many of fewer than 2^31 keys are not below `bound`.
  std::int64_t (*count_from)(const K* keys, std::int64_t count, K bound);
  /// found[i] = how many of the sorted keys, fewer than 2^31, are below values[i], or with `after` not above it.
  void (*search)(const K* keys, std::int64_t count, const K* values, std::int64_t wanted, bool after,
                 std::int64_t* found);
  /// Keys and their indices as numbers that order by key, then index; the index is in the low `index_bits`. Returns
  /// how many low bits of the keys found no room: 0 unless 64-bit keys span more than the 63 - index_bits left.
  int (*pack)(const K* keys, std::int64_t count, int index_bits, std::int64_t* packed);
  /// The order of each column of `count` rows of lines_beside keys, which is faster than `sort` up to `short_line`
  /// rows.
  void (*order_columns)(const K* keys, K* order, int count);
  std::int64_t short_line;
};

/// Room for elements, by their bits.
template <class K>
struct ElementRoom {
  K *begin, *end;
};

struct PartedCounts {
  std::int64_t below, above;
};

/// Loops over elements of one type, as wide as their keys of type K, which are made as they are read.
template <class K>
struct PartLoops {
  /// Puts the keys from `least` to `greatest` in their order at the front of `to`, which has room for a vector more;
  /// returns how many, and in `below` how many are less than they.
  std::int64_t (*keep)(const void* elements, std::int64_t count, K least, K greatest, K* to, std::int64_t& below);
  /// Keys between which the one that sorting would put at `rank` very likely lies, and few others do.
  void (*bracket)(const void* elements, std::int64_t count, std::int64_t rank, K& least, K& greatest);
  /// Puts the elements whose keys are below `middle` in their order at the front of `below`, those above it at the
  /// front of `above`; either may be where the elements are. What lies in the rooms behind them is lost.
  PartedCounts (*part_around)(const void* elements, std::int64_t count, K middle, ElementRoom<K> below,
                              ElementRoom<K> above);
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
  /// Loops for elements of four and eight bytes; smaller elements are partitioned as their keys of i32.
  PartLoops<std::int32_t> (*narrow_parts)(DType dtype);
  PartLoops<std::int64_t> (*wide_parts)(DType dtype);

  template <class K>
  PartLoops<K> parts(DType dtype) const {
    if constexpr (sizeof(K) == 4) return narrow_parts(dtype);
    else return wide_parts(dtype);
  }
};

TYTO_IN_EACH_SET(extern const SortLoops sort_loops;)

/// The loops for an instruction set.
const SortLoops& sort_loops(InstructionSet set) noexcept;

}  // namespace tyto::cpu
