// Stable sorting by unsigned keys without comparisons and without memory of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

/// Sorts by key, equal keys by index; `other` is room for as many entries. Returns where the result lies: either array.
template <class Key, class Index>
KeyedIndex<Key, Index>* sort_by_key(KeyedIndex<Key, Index>* entries, KeyedIndex<Key, Index>* other,
                                    std::int64_t count) {
  using Entry = KeyedIndex<Key, Index>;
  if (count < fewest_for_radix) {
    // Indices make the order total, so the sort need not be stable.
    std::sort(entries, entries + count,
              [](const Entry& a, const Entry& b) { return a.key != b.key ? a.key < b.key : a.index < b.index; });
    return entries;
  }
  constexpr std::size_t digits = sizeof(Key);
  Index counts[digits][256] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t digit = 0; digit < digits; ++digit) ++counts[digit][(entries[i].key >> (8 * digit)) & 0xffu];
  }
  for (std::size_t digit = 0; digit < digits; ++digit) {
    Index* starts = counts[digit];
    // A digit that is the same everywhere moves nothing: small integers in wide types need few passes.
    if (starts[(entries[0].key >> (8 * digit)) & 0xffu] == static_cast<Index>(count)) continue;
    Index start = 0;
    for (int value = 0; value < 256; ++value) {
      const Index here = starts[value];
      starts[value] = start;
      start = static_cast<Index>(start + here);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      other[starts[(entries[i].key >> (8 * digit)) & 0xffu]++] = entries[i];
    }
    std::swap(entries, other);
  }
  return entries;
}

}  // namespace tyto::cpu
