// SPDX-License-Identifier: MIT
// sort along an axis: sorts keys alone, and converts them back to elements.
#include <algorithm>

#include "devices/cpu/sort/key_lines.hpp"
#include "devices/cpu/sort/sort.hpp"

namespace tyto::cpu {

namespace {

/// Lines so long are counted, value by value, where keys have few values.
constexpr std::int64_t worth_counting(std::size_t element_size) {
  return element_size == 1 ? 512 : element_size == 2 ? 1 << 16 : INT64_MAX;
}

/// Sorts keys of so few values that each is counted, in `counts`, which has room for as many as there are keys.
template <class K>
void sort_by_counting(K* keys, K* counts, std::int64_t count, std::size_t element_size) {
  const K values = K{1} << (8 * element_size), least = -values / 2;
  std::fill_n(counts, values, K{0});
  for (std::int64_t i = 0; i < count; ++i) ++counts[keys[i] - least];
  K* next = keys;
  for (K value = 0; value < values; ++value) next = std::fill_n(next, counts[value], value + least);
}

}  // namespace

KernelRef prepare_sort(const core::Step& step) {
  const auto& attributes = std::get<core::SortAttributes>(*step.attributes);
  if (KernelRef kernel = order_short_lines(step, attributes.axis, attributes.descending, 0, -1)) return kernel;
  LinePairs pairs(step, attributes.axis);
  const ColumnLines columns(step, attributes.axis, pairs);
  const LineKeys keys_of(step.inputs[0].dtype, attributes.descending);
  const bool counted = pairs.count >= worth_counting(keys_of.element_size()) && pairs.count <= INT32_MAX;
  const std::int64_t zero = attributes.descending ? -1 : 0;
  // Keys as wide as the elements are sorted where the result lies.
  const bool in_result = pairs.out_stride == 1 && keys_of.size() == keys_of.element_size();
  const auto sort_line = [=](const std::byte* line, std::byte* sorted, std::byte* workspace, std::byte* others) {
    const std::int64_t count = pairs.count;
    std::byte* const keys = in_result ? sorted : workspace;
    const bool signed_zeros = keys_of.read(line, count, pairs.in_stride, keys, others);
    std::int64_t position = 0;
    keys_of.with_keys(keys, others, [&]<class K>(const KeyLoops<K>& loops, K* own, K* other) {
      if (counted) sort_by_counting(own, other, count, keys_of.element_size());
      else loops.sort(own, other, count);
      if (signed_zeros) position = std::lower_bound(own, own + count, static_cast<K>(zero)) - own;
    });
    keys_of.write(keys, count, sorted, pairs.out_stride);
    if (!signed_zeros) return;
    // Both zeros have one key: they are written as they stand in the line, one after the other.
    each_zero(line, count, pairs.in_stride, keys_of.element_size(), [&]<class Bits>(const Bits* element) {
      reinterpret_cast<Bits*>(sorted)[position++ * pairs.out_stride] = *element;
    });
  };
  return each_key_line(step, pairs, columns, in_result ? 1 : 2, pairs.count, keys_of.size(), sort_line);
}

}  // namespace tyto::cpu
