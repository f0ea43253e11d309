// SPDX-License-Identifier: MIT
// Quicksort and selection of integer keys between two arrays, compiled once an instruction set.
#include "devices/cpu/sort/sort_loops.hpp"
#include "devices/cpu/sort/order_key.hpp"
#include "devices/cpu/sort/sorting_network.hpp"
#include "devices/cpu/sort/vector_split.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

/// Splits that may be uneven before a segment is taken for one made to be slow.
int depth_of(std::int64_t count) { return 2 * (64 - __builtin_clzll(static_cast<unsigned long long>(count) | 1)); }

/// Values that are searched for together.
constexpr int search_width = 4 * Lanes<std::int32_t>::count;

/// So few keys are each compared with every value.
constexpr std::int64_t few_keys = 8;

template <class K>
void sift(K* heap, std::int64_t at, std::int64_t count) {
  const K key = heap[at];
  for (std::int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && heap[child] < heap[child + 1]) ++child;
    if (!(key < heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = key;
}

template <class K>
void heap_sort(K* keys, std::int64_t count) {
  for (std::int64_t i = count / 2; i-- > 0;) sift(keys, i, count);
  for (std::int64_t last = count - 1; last > 0; --last) {
    const K greatest = keys[0];
    keys[0] = keys[last];
    keys[last] = greatest;
    sift(keys, 0, last);
  }
}

/// A key that is about `share` of the way up a segment, by keys from all over it.
template <class K>
K pivot_of(const K* keys, std::int64_t count, double share) {
  constexpr int few = 2 * Lanes<K>::count, many = most_few<K> / 2;
  K samples[many];
  const int taken = count < 32 * many ? few : many;
  const std::int64_t distance = count / taken;
  for (int i = 0; i < taken; ++i) samples[i] = keys[distance / 2 + i * distance];
  sort_few(samples, samples, taken);
  return samples[static_cast<int>(share * (taken - 1))];
}

/// Where to split so that ranks about `share` of the way up a segment are, most times, in the smaller part: beyond it
/// by what samples err.
inline double split_for(double share) {
  constexpr double margin = 0.06;
  return share < 0.5 ? (share + margin < 0.5 ? share + margin : 0.5) : (share - margin > 0.5 ? share - margin : 0.5);
}

/// A segment parted at a key: the first `low` are less than all others; where `equal` is set they are equal.
struct Parts {
  std::int64_t low;
  bool equal;
};

template <class K>
Parts part(const K* keys, std::int64_t count, K pivot, K* to) {
  const std::int64_t low = split(keys, count, pivot, to);
  if (low != 0) return {low, false};
  // The pivot is the least key: its equals are in order.
  if (pivot == greatest_key<K>) return {count, true};
  return {split(keys, count, static_cast<K>(pivot + 1), to), true};
}

/// Sorts `here` into `sorted`, which is it or `other`.
template <class K>
void sort_segment(K* here, K* other, std::int64_t count, K* sorted, int depth) {
  if (count <= most_few<K>) return sort_few(here, sorted, static_cast<int>(count));
  if (depth == 0) {
    if (sorted != here) __builtin_memcpy(sorted, here, static_cast<std::size_t>(count) * sizeof(K));
    return heap_sort(sorted, count);
  }
  const K pivot = pivot_of(here, count, 0.5);
  const auto [low, equal] = part(here, count, pivot, other);
  if (!equal) sort_segment(other, here, low, sorted, depth - 1);
  else
    for (std::int64_t i = 0; i < low; ++i) sorted[i] = pivot;
  if (low < count) sort_segment(other + low, here + low, count - low, sorted + low, depth - 1);
}

template <class K>
void sort_keys(K* keys, K* other, std::int64_t count) {
  sort_segment(keys, other, count, keys, depth_of(count));
}

/// The keys of ranks that ascend, counted from `before` on.
template <class K>
void select_in(K* here, K* other, std::int64_t count, std::int64_t before, const std::int64_t* ranks, int wanted,
               K* found, int depth) {
  if (wanted == 0) return;
  if (ranks[0] - before == count - 1 || ranks[wanted - 1] == before) {
    K least = here[0], greatest = here[0];
    for (std::int64_t i = 0; i < count; ++i) {
      least = here[i] < least ? here[i] : least;
      greatest = here[i] > greatest ? here[i] : greatest;
    }
    for (int k = 0; k < wanted; ++k) found[k] = ranks[k] == before ? least : greatest;
    return;
  }
  if (count <= most_few<K> || depth == 0) {
    sort_segment(here, other, count, here, depth);
    for (int k = 0; k < wanted; ++k) found[k] = here[ranks[k] - before];
    return;
  }
  const double middle = static_cast<double>(ranks[0] + ranks[wanted - 1] - 2 * before) / 2;
  const K pivot = pivot_of(here, count, split_for(middle / static_cast<double>(count)));
  const auto [low, equal] = part(here, count, pivot, other);
  int lower = 0;
  while (lower < wanted && ranks[lower] < before + low) ++lower;
  if (!equal) select_in(other, here, low, before, ranks, lower, found, depth - 1);
  else
    for (int k = 0; k < lower; ++k) found[k] = pivot;
  select_in(other + low, here + low, count - low, before + low, ranks + lower, wanted - lower, found + lower,
            depth - 1);
}

template <class K>
void select_keys(K* keys, K* other, std::int64_t count, const std::int64_t* ranks, int wanted, K* found) {
  select_in(keys, other, count, 0, ranks, wanted, found, depth_of(count));
}

/// Elements as keys; returns whether a negative zero is among them.
template <class T>
bool encode(const void* elements, std::int64_t count, bool descending, void* keys) {
  using Key = OrderKey<T>;
  const T* x = static_cast<const T*>(elements);
  auto* to = static_cast<SortedKey<T>*>(keys);
  int negative_zeros = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = Key::of(x[i], descending);
    if constexpr (is_stored_float<T>) negative_zeros |= Key::is_negative_zero(x[i]);
  }
  return negative_zeros != 0;
}

template <class T>
void decode(const void* keys, std::int64_t count, bool descending, void* elements) {
  T* x = static_cast<T*>(elements);
  const auto* from = static_cast<const SortedKey<T>*>(keys);
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = OrderKey<T>::element(static_cast<KeyBits<T>>(from[i]), descending);
  }
}

/// Brackets the key of a rank by samples, two and a half standard deviations of their error to either side.
template <class T, class K>
void bracket(const void* elements, std::int64_t count, std::int64_t rank, K& least, K& greatest) {
  const auto* x = static_cast<const K*>(elements);
  constexpr int taken = most_few<K> < 64 ? most_few<K> : 64;
  K samples[taken];
  const std::int64_t distance = count / taken;
  least = static_cast<K>(-greatest_key<K> - 1);
  greatest = greatest_key<K>;
  if (distance == 0) return;
  for (int i = 0; i < taken; ++i) samples[i] = key_of<T>(x[distance / 2 + i * distance]);
  sort_few(samples, samples, taken);
  const double share = static_cast<double>(rank) / static_cast<double>(count);
  const double margin = 2.5 * __builtin_sqrt(share * (1 - share) / taken) + 1.0 / taken;
  const int low = static_cast<int>((share - margin) * taken), high = static_cast<int>((share + margin) * taken) + 1;
  if (low > 0) least = samples[low];
  if (high < taken) greatest = samples[high];
}

template <class K>
std::int64_t count_from(const K* keys, std::int64_t count, K bound) {
  K found = 0;
  for (std::int64_t i = 0; i < count; ++i) found += static_cast<K>(keys[i] >= bound);
  return found;
}

/// Many searches go side by side, half the keys in question at each step: their loads do not wait for each other, and
/// no branch depends on the keys. Of few keys, each says which values it is before.
template <class K, bool After>
void search_together(const K* keys, std::int64_t count, const K* values, int wanted, std::int64_t* found) {
  using L = Lanes<K>;
  using Vector = typename L::Vector;
  constexpr int vectors = search_width / L::count;
  const auto is_before = [](Vector key, Vector value) { return After ? key <= value : key < value; };
  Vector low[vectors] = {}, value[vectors];
  for (int i = 0; i < vectors; ++i) value[i] = L::load(values + i * L::count);
  if (count <= few_keys) {
    for (std::int64_t k = 0; k < count; ++k) {
      for (int i = 0; i < vectors; ++i) low[i] -= is_before(L::all(keys[k]), value[i]);
    }
  } else {
    K left = static_cast<K>(count);
    for (; left > 1; left -= left / 2) {
      const Vector half = L::all(left / 2), before_half = half - L::all(1);
      for (int i = 0; i < vectors; ++i) low[i] += is_before(gather<K>(keys, low[i] + before_half), value[i]) & half;
    }
    for (int i = 0; i < vectors; ++i) low[i] -= is_before(gather<K>(keys, low[i]), value[i]);
  }
  K at[search_width];
  for (int i = 0; i < vectors; ++i) L::store(at + i * L::count, low[i]);
  for (int i = 0; i < wanted; ++i) found[i] = at[i];
}

template <class K>
void search(const K* keys, std::int64_t count, const K* values, std::int64_t wanted, bool after, std::int64_t* found) {
  for (std::int64_t i = 0; i < wanted; i += search_width) {
    const int width = wanted - i < search_width ? static_cast<int>(wanted - i) : search_width;
    K padded[search_width] = {};
    const K* part = values + i;
    if (width < search_width) {
      __builtin_memcpy(padded, part, static_cast<std::size_t>(width) * sizeof(K));
      part = padded;
    }
    if (after) search_together<K, true>(keys, count, part, width, found + i);
    else search_together<K, false>(keys, count, part, width, found + i);
  }
}

template <class K>
int pack(const K* keys, std::int64_t count, int index_bits, std::int64_t* packed) {
  K least = keys[0], greatest = keys[0];
  for (std::int64_t i = 0; i < count; ++i) {
    least = keys[i] < least ? keys[i] : least;
    greatest = keys[i] > greatest ? keys[i] : greatest;
  }
  const auto from = static_cast<std::uint64_t>(least);
  const std::uint64_t range = static_cast<std::uint64_t>(greatest) - from;
  const int width = range == 0 ? 0 : 64 - __builtin_clzll(range);
  const int lost = width > 63 - index_bits ? width - (63 - index_bits) : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t distance = (static_cast<std::uint64_t>(keys[i]) - from) >> lost;
    packed[i] = static_cast<std::int64_t>(distance << index_bits | static_cast<std::uint64_t>(i));
  }
  return lost;
}

/// Each key goes down past the greater ones before it, so equal ones keep their order.
template <class K>
void order_columns(const K* keys, K* order, int count) {
  using L = Lanes<K>;
  using Vector = typename L::Vector;
  for (int lane = 0; lane < lines_beside; lane += L::count) {
    Vector key[longest_short_line], place[longest_short_line];
    for (int i = 0; i < count; ++i) {
      Vector last = L::load(keys + i * lines_beside + lane), at = L::all(static_cast<K>(i));
      for (int j = i; j > 0; --j) {
        const Vector other = key[j - 1], other_at = place[j - 1];
        const auto before = last < other;
        key[j] = before ? other : last;
        place[j] = before ? other_at : at;
        last = before ? last : other;
        at = before ? at : other_at;
      }
      key[0] = last;
      place[0] = at;
    }
    for (int i = 0; i < count; ++i) L::store(order + i * lines_beside + lane, place[i]);
  }
}

/// The exchanges of a column grow with its length squared, by as many keys as a vector has at once.
template <class K>
constexpr std::int64_t short_line = 2 * Lanes<K>::count < longest_short_line ? 2 * Lanes<K>::count : longest_short_line;

template <class T>
constexpr ElementLoops element_loops = {encode<T>, decode<T>};

ElementLoops elements(DType dtype) {
  switch (dtype) {
    case DType::i8: return element_loops<std::int8_t>;
    case DType::i16: return element_loops<std::int16_t>;
    case DType::i32: return element_loops<std::int32_t>;
    case DType::u16: return element_loops<std::uint16_t>;
    case DType::u32: return element_loops<std::uint32_t>;
    case DType::u64: return element_loops<std::uint64_t>;
    case DType::i64: return element_loops<std::int64_t>;
    case DType::f16: return element_loops<Half>;
    case DType::bf16: return element_loops<BFloat16>;
    case DType::f32: return element_loops<float>;
    case DType::f64: return element_loops<double>;
    default: return element_loops<std::uint8_t>;
  }
}

template <class K>
constexpr KeyLoops<K> key_loops = {sort_keys<K>, select_keys<K>, split<K>,         count_from<K>,
                                   search<K>,    pack<K>,        order_columns<K>, short_line<K>};

template <class T>
constexpr PartLoops<SortedKey<T>> part_loops = {keep<T, SortedKey<T>>, bracket<T, SortedKey<T>>,
                                                part_around<T, SortedKey<T>>};

PartLoops<std::int32_t> narrow_parts(DType dtype) {
  if (dtype == DType::f32) return part_loops<float>;
  return dtype == DType::u32 ? part_loops<std::uint32_t> : part_loops<std::int32_t>;
}

PartLoops<std::int64_t> wide_parts(DType dtype) {
  if (dtype == DType::f64) return part_loops<double>;
  return dtype == DType::u64 ? part_loops<std::uint64_t> : part_loops<std::int64_t>;
}

}  // namespace

const SortLoops sort_loops = {key_loops<std::int32_t>, key_loops<std::int64_t>, elements, narrow_parts, wide_parts};

}  // namespace tyto::cpu::TYTO_ISA
