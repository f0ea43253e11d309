// SPDX-License-Identifier: MIT
// order_statistics, partition and argpartition: elements of given ranks by selection instead of sorting.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "devices/cpu/sort/key_lines.hpp"
#include "devices/cpu/sort/sort.hpp"

namespace tyto::cpu {

namespace {

/// The keys from one to another, both included.
template <class K>
struct KeyRange {
  K least, greatest;
};

/// Calls f for the keys below `middle`, for it, and for those above, where there can be any.
template <class K, class F>
void each_part(K middle, const F& f) {
  constexpr K greatest = greatest_key<K>, least = static_cast<K>(-greatest - 1);
  if (middle != least) f(KeyRange<K>{least, static_cast<K>(middle - 1)});
  f(KeyRange<K>{middle, middle});
  if (middle != greatest) f(KeyRange<K>{static_cast<K>(middle + 1), greatest});
}

template <class Bits>
bool has_negative_zero(const std::byte* line, std::int64_t count, std::int64_t stride) {
  constexpr Bits negative_zero = -greatest_key<Bits> - 1;
  const Bits* x = reinterpret_cast<const Bits*>(line);
  Bits found = 0;
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) found |= static_cast<Bits>(x[i] == negative_zero);
  } else {
    for (std::int64_t i = 0; i < count; ++i) found |= static_cast<Bits>(x[i * stride] == negative_zero);
  }
  return found != 0;
}

/// Keys are kept a vector at a time, which writes past the last one.
constexpr std::int64_t vector_room = 16;

/// The key of a rank, and how many keys are not above it; where that is not known, those up to the rank.
template <class K>
struct MiddleKey {
  K key;
  std::int64_t not_above;
};

/// The key of a rank by those near it, which are few where samples do not deceive; nothing where they do. `workspace`
/// is for as many keys and a vector more.
template <class K>
std::optional<MiddleKey<K>> bracketed_key(const KeyLoops<K>& loops, const PartLoops<K>& part_loops,
                                          const void* elements, std::int64_t count, std::int64_t rank, K* workspace) {
  constexpr std::int64_t shortest = 1024;  // what is shorter is selected from in less time
  if (count < shortest || count > INT32_MAX) return {};
  K least, greatest;
  part_loops.bracket(elements, count, rank, least, greatest);
  std::int64_t below = 0;
  const std::int64_t inside = part_loops.keep(elements, count, least, greatest, workspace, below), place = rank - below;
  if (place < 0 || place >= inside || 2 * inside > count) return {};
  K found;
  const bool are_few = 3 * inside <= count;
  K* const copy = workspace + 2 * inside;  // a selection loses some of its keys
  if (are_few) std::copy_n(workspace, inside, copy);
  loops.select(workspace, workspace + inside, inside, &place, 1, &found);
  if (!are_few) return MiddleKey<K>{found, rank + 1};
  return MiddleKey<K>{found, below + std::count_if(copy, copy + inside, [=](K each) { return each <= found; })};
}

}  // namespace

KernelRef prepare_order_statistics(const core::Step& step) {
  const std::int64_t axis = step.inputs[0].view.rank() - 1;
  const auto& list = std::get<core::ListAttributes>(*step.attributes).list;
  if (KernelRef kernel = order_short_lines(step, axis, false, 0, -1, list)) return kernel;
  LinePairs pairs(step, axis);
  const ColumnLines columns(step, axis, pairs);
  const LineKeys keys_of(step.inputs[0].dtype, false);
  const std::vector<std::int64_t> ranks(list.begin(), list.end());
  const auto wanted = static_cast<int>(ranks.size());
  const auto select_line = [=](const std::byte* line, std::byte* found, std::byte* keys, std::byte* others) {
    const std::int64_t count = pairs.count;
    const bool signed_zeros = keys_of.read(line, count, pairs.in_stride, keys, others);
    keys_of.with_keys(keys, others, [&]<class K>(const KeyLoops<K>& loops, K* own, K* other) {
      std::int64_t rank = signed_zeros ? loops.split(own, count, 0, other) : 0;
      K* const selected = own + count;
      loops.select(own, other, count, ranks.data(), wanted, selected);
      keys_of.write(selected, wanted, found, pairs.out_stride);
      if (!signed_zeros) return;
      // Sorting would put zeros of both signs as they stand in the line.
      auto next = static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
      each_zero(line, count, pairs.in_stride, keys_of.element_size(), [&]<class Bits>(const Bits* zero) {
        for (; next < wanted && ranks[static_cast<std::size_t>(next)] == rank; ++next) {
          reinterpret_cast<Bits*>(found)[next * pairs.out_stride] = *zero;
        }
        ++rank;
      });
    });
  };
  return each_key_line(step, pairs, columns, 2, pairs.count + wanted, keys_of.size(), select_line);
}

KernelRef prepare_partition(const core::Step& step) {
  const auto& around = std::get<core::TopkAttributes>(*step.attributes);
  LinePairs pairs(step, around.axis);
  const ColumnLines columns(step, around.axis, pairs);
  const LineKeys keys_of(step.inputs[0].dtype, false);
  const auto size = static_cast<std::int64_t>(keys_of.element_size());
  const auto partition_line = [=, rank = around.k](const std::byte* line, std::byte* parts, std::byte* keys,
                                                   std::byte* others) {
    const std::int64_t count = pairs.count;
    bool lost_signs = false;  // of zeros
    keys_of.with_keys(keys, others, [&]<class K>(const KeyLoops<K>& loops, K* own, K* other) {
      const PartLoops<K> part_loops = keys_of.part_loops<K>();
      const void* elements = keys_of.to_part(line, count, pairs.in_stride, own, other, lost_signs);
      std::optional<MiddleKey<K>> middle = bracketed_key(loops, part_loops, elements, count, rank, other);
      if (!middle) {
        K selected;
        keys_of.read(line, count, pairs.in_stride, own, other);
        loops.select(own, other, count, &rank, 1, &selected);
        elements = keys_of.to_part(line, count, pairs.in_stride, own, other, lost_signs);
        middle = MiddleKey<K>{selected, rank + 1};
      }
      // The longer part at its place, where it can be: behind the equals of the rank that are known of.
      K* const whole = keys_of.are_parted() && pairs.out_stride == 1 ? reinterpret_cast<K*>(parts) : nullptr;
      const bool longer_above = 2 * rank < count;
      ElementRoom<K> low{other, other + count + vector_room}, high{own, own + count + vector_room};
      if (whole != nullptr && longer_above) high = {whole + middle->not_above, whole + count};
      else if (whole != nullptr) low = {whole, whole + count};
      const auto [below, above] = part_loops.part_around(elements, count, middle->key, low, high);
      const std::int64_t equal = count - below - above;
      const auto write = [&](const K* from, std::int64_t wanted, std::int64_t first) {
        if (whole != nullptr) std::memmove(whole + first, from, static_cast<std::size_t>(wanted) * sizeof(K));
        else keys_of.write_parted(from, wanted, parts + first * pairs.out_stride * size, pairs.out_stride);
      };
      if (high.begin != whole + count - above) write(high.begin, above, count - above);
      if (low.begin != whole) write(low.begin, below, 0);
      K* const equals = whole != nullptr ? whole + below : own;
      std::fill_n(equals, equal, keys_of.parted_of(middle->key));
      if (whole == nullptr) write(own, equal, below);
      if (keys_of.are_parted() && keys_of.have_signed_zeros() && middle->key == 0) {
        lost_signs = has_negative_zero<K>(line, count, pairs.in_stride);
      }
    });
    if (!lost_signs) return;
    // Zeros of both signs have one key, so they are in one part, one after the other.
    std::int64_t position = 0;
    each_zero(line, count, pairs.in_stride, keys_of.element_size(), [&]<class Bits>(const Bits* zero) {
      Bits* const out = reinterpret_cast<Bits*>(parts);
      while (static_cast<Bits>(out[position * pairs.out_stride] << 1) != 0) ++position;
      out[position++ * pairs.out_stride] = *zero;
    });
  };
  return each_key_line(step, pairs, columns, 2, pairs.count + vector_room, keys_of.size(), partition_line);
}

KernelRef prepare_argpartition(const core::Step& step) {
  const auto& around = std::get<core::TopkAttributes>(*step.attributes);
  LinePairs pairs(step, around.axis);
  const ColumnLines columns(step, around.axis, pairs);
  const LineKeys keys_of(step.inputs[0].dtype, false);
  const auto order_line = [=, rank = around.k](const std::byte* line, std::byte* order, std::byte* keys,
                                               std::byte* others) {
    const std::int64_t count = pairs.count;
    keys_of.read(line, count, pairs.in_stride, keys, others);
    keys_of.with_keys(keys, others, [&]<class K>(const KeyLoops<K>& loops, K* own, K* other) {
      K middle;
      loops.select(own, other, count, &rank, 1, &middle);
      keys_of.read(line, count, pairs.in_stride, keys, others);
      auto* next = reinterpret_cast<std::int64_t*>(order);
      each_part(middle, [&](const KeyRange<K>& range) {
        for (std::int64_t i = 0; i < count; ++i) {
          if (own[i] < range.least || own[i] > range.greatest) continue;
          *next = i;
          next += pairs.out_stride;
        }
      });
    });
  };
  return each_key_line(step, pairs, columns, 2, pairs.count, keys_of.size(), order_line);
}

}  // namespace tyto::cpu
