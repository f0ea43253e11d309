// sort along an axis: values alone, which their keys give back.
#include <algorithm>

#include "devices/cpu/sort/key_lines.hpp"
#include "devices/cpu/sort/sort.hpp"

namespace tyto::cpu {

namespace {

using KernelRef = std::shared_ptr<const core::Kernel>;

/// Lines so long are counted, value by value, where keys have few values.
constexpr std::int64_t worth_counting(std::size_t element_size) {
  return element_size == 1 ? 512 : element_size == 2 ? 1 << 16 : INT64_MAX;
}

/// Sorts keys of so few values that each is counted, in `counts`, which has room for as many as there are keys.
void sort_by_counting(std::int32_t* keys, std::int32_t* counts, std::int64_t count, std::size_t element_size) {
  const std::int32_t values = 1 << (8 * element_size), least = -values / 2;
  std::fill_n(counts, values, 0);
  for (std::int64_t i = 0; i < count; ++i) ++counts[keys[i] - least];
  std::int32_t* next = keys;
  for (std::int32_t value = 0; value < values; ++value) next = std::fill_n(next, counts[value], value + least);
}

}  // namespace

KernelRef prepare_sort(const core::Step& step) {
  const auto& attributes = std::get<core::AxisAttributes>(*step.attributes);
  const LinePairs pairs(step, attributes.axis);
  const LineKeys keys_of(step.inputs[0].dtype, attributes.flag);
  const bool counted = pairs.count >= worth_counting(keys_of.element_size()) && pairs.count <= INT32_MAX;
  const std::int64_t zero = attributes.flag ? -1 : 0;
  return each_key_line(step, pairs, pairs.count, keys_of.size(),
                       [=](const std::byte* line, std::byte* sorted, std::byte* keys, std::byte* others) {
                         const std::int64_t count = pairs.count;
                         const bool signed_zeros = keys_of.read(line, count, pairs.in_stride, keys, others);
                         keys_of.with_keys(keys, others, [&]<class K>(const KeyLoops<K>& loops, K* own, K* other) {
                           if constexpr (sizeof(K) == 4) {
                             if (counted) return sort_by_counting(own, other, count, keys_of.element_size());
                           }
                           loops.sort(own, other, count);
                         });
                         keys_of.write(keys, count, sorted, pairs.out_stride, others);
                         if (!signed_zeros) return;
                         // Both zeros have one key: they are written as they stand in the line, one after the other.
                         std::int64_t position = 0;
                         keys_of.with_keys(keys, others, [&]<class K>(const KeyLoops<K>&, const K* own, K*) {
                           position = std::lower_bound(own, own + count, static_cast<K>(zero)) - own;
                         });
                         each_zero(line, count, pairs.in_stride, keys_of.element_size(),
                                   [&]<class Bits>(const Bits* element) {
                                     reinterpret_cast<Bits*>(sorted)[position++ * pairs.out_stride] = *element;
                                   });
                       });
}

}  // namespace tyto::cpu
