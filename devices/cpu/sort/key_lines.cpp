// SPDX-License-Identifier: MIT
// Lines of a tensor as keys: those that lie side by side are converted as they lie, others are gathered before.
#include "devices/cpu/sort/key_lines.hpp"

#include <cstring>

#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

/// The stride of a view along an axis, which is taken out of it.
std::int64_t without_axis(core::View& view, std::int64_t axis) {
  if (view.rank() == 0) return 1;
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t stride = view.strides[at];
  view.shape.erase(at);
  view.strides.erase(at);
  return stride;
}

template <std::size_t Size>
struct Bytes {
  std::byte bytes[Size];
};

/// Copies `count` elements, `from_stride` and `to_stride` elements apart.
void copy_strided(const void* from, std::int64_t from_stride, void* to, std::int64_t to_stride, std::int64_t count,
                  std::size_t size) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * size);
    return;
  }
  const auto copy = [&]<class E>(E) {
    const E* x = static_cast<const E*>(from);
    E* y = static_cast<E*>(to);
    for (std::int64_t i = 0; i < count; ++i) y[i * to_stride] = x[i * from_stride];
  };
  switch (size) {
    case 1: return copy(Bytes<1>{});
    case 2: return copy(Bytes<2>{});
    case 4: return copy(Bytes<4>{});
    default: return copy(Bytes<8>{});
  }
}

}  // namespace

LinePairs::LinePairs(const core::Step& step, std::int64_t axis) {
  core::View in = step.inputs[0].view, out = step.outputs[0].view;
  count = in.rank() == 0 ? 1 : in.shape[static_cast<std::size_t>(axis)];
  const bool wanted = out.count() != 0;
  in_stride = without_axis(in, axis);
  out_stride = without_axis(out, axis);
  lines = StridedIterator<2>(std::array<core::View, 2>{in, out});
  work = count == 0 || !wanted ? 0 : lines.count();
  // A key is compared about as often as the length of the line has bits.
  const double nanoseconds =
      machine::compared_key * static_cast<double>(64 - __builtin_clzll(static_cast<unsigned long long>(count) | 1));
  team_size = work <= 1 ? 1 : threads_for(static_cast<double>(work) * static_cast<double>(count) * nanoseconds);
}

ColumnLines::ColumnLines(const core::Step& step, std::int64_t axis, LinePairs& pairs)
    : in_size(size_of(step.inputs[0].dtype)), out_size(size_of(step.outputs[0].dtype)) {
  core::View in = step.inputs[0].view, out = step.outputs[0].view;
  if (in.rank() < 2 || pairs.work < 2) return;
  in_count = pairs.count;
  out_count = out.shape[static_cast<std::size_t>(axis)];
  in_stride = without_axis(in, axis);
  out_stride = without_axis(out, axis);
  const std::size_t last = in.shape.size() - 1;
  if (in_stride == 1 || in.strides[last] != 1 || out.strides[last] != 1) return;
  beside = in.shape[last];
  const auto longest = static_cast<std::int64_t>(
      std::max(in_size * static_cast<std::size_t>(in_count), out_size * static_cast<std::size_t>(out_count)));
  const std::int64_t wanted = std::min(
      {machine::cache_line / static_cast<std::int64_t>(in_size), beside, 4 * machine::second_level_cache / longest});
  if (wanted < 2) return;
  together = wanted;
  pairs.in_stride = pairs.out_stride = 1;
}

void ColumnLines::read(const std::byte* from, std::int64_t lines, std::byte* to) const {
  copy_transposed(from, to, {lines, in_count, 1, in_stride, in_count, 1}, in_size);
}

void ColumnLines::write(const std::byte* from, std::int64_t lines, std::byte* to) const {
  copy_transposed(from, to, {out_count, lines, 1, out_count, out_stride, 1}, out_size);
}

bool LineKeys::read(const void* line, std::int64_t count, std::int64_t stride, void* keys, void* others) const {
  if (stride != 1) {
    copy_strided(line, stride, others, 1, count, size_);
    line = others;
  }
  return elements_.encode(line, count, descending_, keys);
}

void LineKeys::write(const void* keys, std::int64_t count, void* line, std::int64_t stride) const {
  if (stride == 1) return elements_.decode(keys, count, descending_, line);
  constexpr std::int64_t together = 512;
  alignas(64) std::byte elements[together * 8];
  const auto element_bytes = static_cast<std::int64_t>(size_), key_bytes = static_cast<std::int64_t>(size());
  for (std::int64_t first = 0; first < count; first += together) {
    const std::int64_t part = std::min(together, count - first);
    elements_.decode(static_cast<const std::byte*>(keys) + first * key_bytes, part, descending_, elements);
    copy_strided(elements, 1, static_cast<std::byte*>(line) + first * stride * element_bytes, stride, part, size_);
  }
}

const void* LineKeys::to_part(const void* line, std::int64_t count, std::int64_t stride, void* keys, void* others,
                              bool& lost_signs) const {
  if (!are_parted()) {
    lost_signs = read(line, count, stride, keys, others);
    return keys;
  }
  if (stride == 1) return line;
  copy_strided(line, stride, keys, 1, count, size_);
  return keys;
}

void LineKeys::write_parted(const void* parted, std::int64_t count, void* line, std::int64_t stride) const {
  if (are_parted()) copy_strided(parted, 1, line, stride, count, size_);
  else write(parted, count, line, stride);
}

}  // namespace tyto::cpu
