// Stable sorting by unsigned keys without comparisons and without memory of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tyto::cpu {

/// A key and where its element stood.
template <class Key, class Index>
struct KeyedIndex {
  Key key;
  Index index;
};

/// Key, then index: a total order, so that sorts need not be stable. Narrow pairs are compared as one number.
inline constexpr auto precedes = []<class Entry>(const Entry& a, const Entry& b) {
  if constexpr (sizeof(a.key) <= 4 && sizeof(a.index) == 4) {
    return ((std::uint64_t{a.key} << 32) | a.index) < ((std::uint64_t{b.key} << 32) | b.index);
  } else {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

/// Lines shorter than this, for each byte of the key, are compared: clearing and adding up counts would cost more.
inline constexpr std::int64_t fewest_for_radix = 16;

/// The key of what is sorted: of a pair, or of a key alone.
template <class Key, class Index>
Key key_of(const KeyedIndex<Key, Index>& entry) {
  return entry.key;
}
template <class Key>
requires std::is_unsigned_v<Key> Key key_of(Key key) { return key; }

/// Sorts `count` entries, fewer than Count can hold, by their keys, equal ones as they stand; `other` is room for as
/// many. Returns where the result lies: either array.
template <class Count, class Entry>
Entry* sort_by_key(Entry* entries, Entry* other, std::int64_t count) {
  if (count < fewest_for_radix) {
    // Indices make the order total, and equal keys alone are the same: the sort need not be stable.
    std::sort(entries, entries + count, [](const Entry& a, const Entry& b) {
      if constexpr (std::is_unsigned_v<Entry>) return a < b;
      else return a.key != b.key ? a.key < b.key : a.index < b.index;
    });
    return entries;
  }
  constexpr std::size_t digits = sizeof(key_of(*entries));
  Count counts[digits][256] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t digit = 0; digit < digits; ++digit) ++counts[digit][(key_of(entries[i]) >> (8 * digit)) & 0xffu];
  }
  for (std::size_t digit = 0; digit < digits; ++digit) {
    Count* starts = counts[digit];
    // A digit that is the same everywhere moves nothing: small integers in wide types need few passes.
    if (starts[(key_of(entries[0]) >> (8 * digit)) & 0xffu] == static_cast<Count>(count)) continue;
    Count start = 0;
    for (int value = 0; value < 256; ++value) {
      const Count here = starts[value];
      starts[value] = start;
      start = static_cast<Count>(start + here);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      other[starts[(key_of(entries[i]) >> (8 * digit)) & 0xffu]++] = entries[i];
    }
    std::swap(entries, other);
  }
  return entries;
}

}  // namespace tyto::cpu
