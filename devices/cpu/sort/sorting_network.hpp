// SPDX-License-Identifier: MIT
// Sorting of short arrays of integer keys in vector registers, without a branch on the keys.
//
// An array is a matrix whose rows are vectors. Batcher's odd-even merge sort orders each column; then columns are
// merged in groups of 2, 4, ... lanes, each group made of the even and the odd lanes of the next by the balanced
// merging network (Dowd and others, 1989), which compares the first with the last of the whole, of its halves, of its
// quarters,
// ... It ends with the keys in the order in which they are stored, so nothing is transposed.
#pragma once

#include <utility>

#include "devices/cpu/reduce/lanes.hpp"
#include "devices/cpu/sort/vector_split.hpp"

namespace tyto::cpu::TYTO_ISA {

/// A group of `Group` lanes lies `width / Group` apart, so that even and odd lanes of a group are groups themselves.
/// The lane that `lane` is compared with where blocks of `Block` lanes of a group are compared end with end.
template <int Width, int Group, int Block>
constexpr int opposite_lane(int lane) {
  constexpr int distance = Width / Group;
  const int within = lane / distance % Block;
  return lane + (Block - 1 - 2 * within) * distance;
}

template <class K>
struct SortingNetwork {
  using L = Lanes<K>;
  using Vector = typename L::Vector;
  static constexpr int width = L::count;
  using EachLane = std::make_integer_sequence<int, width>;

  /// Leaves the lesser key of each lane in a, the greater in b.
  [[gnu::always_inline]] static inline void exchange(Vector& a, Vector& b) {
    const Vector least = a < b ? a : b, greatest = a < b ? b : a;
    a = least;
    b = greatest;
  }

  template <int Group, int Block, int... Lane>
  [[gnu::always_inline]] static inline Vector reversed(Vector v, std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(v, v, opposite_lane<width, Group, Block>(Lane)...);
  }

  /// Lanes of the lower half of each block from `least`, those of the upper half from `greatest`.
  template <int Group, int Block, int... Lane>
  [[gnu::always_inline]] static inline Vector halves(Vector least, Vector greatest,
                                                     std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(least, greatest,
                                   (opposite_lane<width, Group, Block>(Lane) > Lane ? Lane : Lane + width)...);
  }

  /// Merges columns [first, first + Count step Distance) of sorted halves: Batcher's odd-even merge over rows.
  template <int First, int Count, int Distance>
  [[gnu::always_inline]] static inline void merge_columns(Vector* rows) {
    if constexpr (2 * Distance < Count) {
      merge_columns<First, Count, 2 * Distance>(rows);
      merge_columns<First + Distance, Count, 2 * Distance>(rows);
#pragma GCC unroll 16
      for (int i = First + Distance; i + Distance < First + Count; i += 2 * Distance) {
        exchange(rows[i], rows[i + Distance]);
      }
    } else {
      exchange(rows[First], rows[First + Distance]);
    }
  }

  template <int First, int Count>
  [[gnu::always_inline]] static inline void sort_columns(Vector* rows) {
    if constexpr (Count > 1) {
      sort_columns<First, Count / 2>(rows);
      sort_columns<First + Count / 2, Count / 2>(rows);
      merge_columns<First, Count, 1>(rows);
    }
  }

  template <int Rows, int Group, int Block>
  [[gnu::always_inline]] static inline void merge_rows(Vector* rows) {
    if constexpr (Block > 1) {
#pragma GCC unroll 16
      for (int first = 0; first < Rows; first += Block) {
#pragma GCC unroll 16
        for (int i = 0; i < Block / 2; ++i) {
          // The upper row may stay reversed: the order within it is only settled by what follows.
          Vector& upper = rows[first + Block - 1 - i];
          upper = reversed<Group, Group>(upper, EachLane());
          exchange(rows[first + i], upper);
        }
      }
      merge_rows<Rows, Group, Block / 2>(rows);
    }
  }

  template <int Rows, int Group, int Block>
  [[gnu::always_inline]] static inline void merge_lanes(Vector* rows) {
    if constexpr (Block > 1) {
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        Vector least = rows[i], greatest = reversed<Group, Block>(rows[i], EachLane());
        exchange(least, greatest);
        rows[i] = halves<Group, Block>(least, greatest, EachLane());
      }
      merge_lanes<Rows, Group, Block / 2>(rows);
    }
  }

  template <int Rows, int Group>
  [[gnu::always_inline]] static inline void merge_groups(Vector* rows) {
    if constexpr (Group <= width) {
      merge_rows<Rows, Group, Rows>(rows);
      merge_lanes<Rows, Group, Group>(rows);
      merge_groups<Rows, 2 * Group>(rows);
    }
  }

  /// Sorts `count` keys, which more than half of the rows, and no more than all of them, hold.
  template <int Rows>
  [[gnu::noinline]] static void sort(const K* keys, K* sorted, int count) {
    Vector rows[Rows];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const int lanes = count - i * width;
      rows[i] = i < Rows / 2 || lanes >= width ? L::load(keys + i * width)
                : lanes > 0                    ? FirstLanes<K>(lanes).load(keys + i * width, greatest_key<K>)
                                               : L::all(greatest_key<K>);
    }
    sort_columns<0, Rows>(rows);
    merge_groups<Rows, 2>(rows);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const int lanes = count - i * width;
      if (i < Rows / 2 || lanes >= width) L::store(sorted + i * width, rows[i]);
      else if (lanes > 0) FirstLanes<K>(lanes).store(sorted + i * width, rows[i]);
    }
  }
};

/// Rows of the largest network: more of them than there are registers would cost more than they save.
inline constexpr int most_rows = TYTO_VECTOR_BYTES >= 64 ? 16 : 8;

/// The most keys that sort_few takes.
template <class K>
inline constexpr int most_few = most_rows* Lanes<K>::count;

/// Sorts up to most_few keys from one place to another, or in place.
template <class K>
void sort_few(const K* keys, K* sorted, int count) {
  using Network = SortingNetwork<K>;
  constexpr int width = Network::width;
  if (count <= width) return Network::template sort<1>(keys, sorted, count);
  if (count <= 2 * width) return Network::template sort<2>(keys, sorted, count);
  if (count <= 4 * width) return Network::template sort<4>(keys, sorted, count);
  if constexpr (most_rows > 8) {
    if (count > 8 * width) return Network::template sort<16>(keys, sorted, count);
  }
  return Network::template sort<8>(keys, sorted, count);
}

}  // namespace tyto::cpu::TYTO_ISA
