// SPDX-License-Identifier: MIT
// argsort and topk along an axis: keys and indices packed into one number each, so that any sort of them is stable.
#include <algorithm>
#include <cstring>
#include <limits>

#include "devices/cpu/sort/key_lines.hpp"
#include "devices/cpu/sort/sort.hpp"

namespace tyto::cpu {

namespace {

/// The packed numbers of a line, and its full keys where these do not fit into them.
struct PackedLine {
  const KeyLoops<std::int64_t>* loops;
  const std::int64_t* keys;  ///< of 64 bits; narrower ones always find room
  int index_bits;

  std::int64_t index_of(std::int64_t packed) const { return packed & ((std::int64_t{1} << index_bits) - 1); }

  /// Orders runs of equal key parts, of which the last bits are missing, in sorted numbers.
  void order_runs(std::int64_t* packed, std::int64_t* other, std::int64_t count) const {
    for (std::int64_t begin = 0, end; begin < count; begin = end) {
      const std::int64_t part = packed[begin] >> index_bits;
      for (end = begin + 1; end < count && packed[end] >> index_bits == part;) ++end;
      if (end - begin > 1) order_run(packed + begin, other, end - begin);
    }
  }

  /// Packs the keys of a run anew, which lie closer together than those of the line, and sorts it.
  void order_run(std::int64_t* run, std::int64_t* other, std::int64_t count) const {
    std::int64_t least = keys[index_of(run[0])], greatest = least;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t key = keys[index_of(run[i])];
      least = std::min(least, key);
      greatest = std::max(greatest, key);
    }
    const auto from = static_cast<std::uint64_t>(least), range = static_cast<std::uint64_t>(greatest) - from;
    const int width = range == 0 ? 0 : 64 - __builtin_clzll(range);
    const int lost = std::max(width - (63 - index_bits), 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = index_of(run[i]);
      const std::uint64_t distance = (static_cast<std::uint64_t>(keys[index]) - from) >> lost;
      run[i] = static_cast<std::int64_t>(distance << index_bits | static_cast<std::uint64_t>(index));
    }
    loops->sort(run, other, count);
    if (lost != 0) order_runs(run, other, count);
  }
};

/// Which of each line's elements are wanted first.
struct Wanted {
  std::int64_t axis;
  std::int64_t count;  ///< of each line, or -1 for all
  bool descending;
};

/// Puts the order of a line's first elements into `packed`, of which it returns the start: one of both arrays.
std::int64_t* order_line(const LineKeys& keys_of, void* keys, std::int64_t* packed, std::int64_t* other,
                         const PackedLine& line, std::int64_t count, std::int64_t wanted) {
  const SortLoops& loops = keys_of.loops();
  const auto pack = [&] {
    if (keys_of.are_wide()) return loops.wide.pack(static_cast<std::int64_t*>(keys), count, line.index_bits, packed);
    return loops.narrow.pack(static_cast<std::int32_t*>(keys), count, line.index_bits, packed);
  };
  int lost = pack();
  std::int64_t* first = packed;
  std::int64_t candidates = count;
  if (wanted < count) {
    const std::int64_t last_rank = wanted - 1;
    std::int64_t last = 0;
    loops.wide.select(packed, other, count, &last_rank, 1, &last);
    // Where bits of the keys are missing, all with the same part of a key may be among the first.
    if (lost != 0) last |= (std::int64_t{1} << line.index_bits) - 1;
    lost = pack();
    if (last < std::numeric_limits<std::int64_t>::max()) {
      candidates = loops.wide.split(packed, count, last + 1, other);
      first = other;
      other = packed;
    }
  }
  loops.wide.sort(first, other, candidates);
  if (lost != 0) line.order_runs(first, other, candidates);
  return first;
}

KernelRef order_kernel(const core::Step& step, const Wanted& wish, int values, int indices) {
  if (KernelRef kernel = order_short_lines(step, wish.axis, wish.descending, values, indices)) return kernel;
  const LinePairs pairs(step, wish.axis);
  const LineKeys keys_of(step.inputs[0].dtype, wish.descending);
  const std::int64_t count = pairs.count, wanted = wish.count < 0 ? count : wish.count;
  const auto last_index = static_cast<unsigned long long>(std::max<std::int64_t>(count - 1, 0));
  const int index_bits = last_index == 0 ? 0 : 64 - __builtin_clzll(last_index);
  const auto size = static_cast<std::int64_t>(keys_of.element_size());

  WorkspaceLayout layout;
  std::size_t keys_distance = 0, packed_distance = 0;
  const auto members = static_cast<std::size_t>(std::min<std::int64_t>(pairs.team_size, pairs.work));
  const auto each = static_cast<std::size_t>(count);
  const std::size_t keys_at = layout.reserve_each(members, each * keys_of.size(), keys_distance);
  const std::size_t packed_at = layout.reserve_each(2 * members, each * 8, packed_distance);
  const auto order_lines = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
    run_team(pairs.team_size, [&](Team team) {
      const Range mine = share(pairs.work, team.member, team.size);
      if (mine.size() == 0) return;
      const auto member = static_cast<std::size_t>(team.member);
      auto* keys = at<std::byte>(workspace.pointer(), keys_at + member * keys_distance);
      auto* packed = at<std::int64_t>(workspace.pointer(), packed_at + 2 * member * packed_distance);
      auto* other = at<std::int64_t>(workspace.pointer(), packed_at + (2 * member + 1) * packed_distance);
      const PackedLine packed_line{&keys_of.loops().wide, reinterpret_cast<const std::int64_t*>(keys), index_bits};
      pairs.lines.each(mine, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
        const std::byte* line = inputs[0].pointer() + offsets[0] * size;
        keys_of.read(line, count, pairs.in_stride, keys, other);
        const std::int64_t* ordered = order_line(keys_of, keys, packed, other, packed_line, count, wanted);
        if (values >= 0) {
          std::byte* y = outputs[static_cast<std::size_t>(values)].pointer() + offsets[1] * size;
          for (std::int64_t i = 0; i < wanted; ++i) {
            std::memcpy(y + i * pairs.out_stride * size,
                        line + packed_line.index_of(ordered[i]) * pairs.in_stride * size,
                        static_cast<std::size_t>(size));
          }
        }
        auto* y = reinterpret_cast<std::int64_t*>(outputs[static_cast<std::size_t>(indices)].pointer()) + offsets[1];
        for (std::int64_t i = 0; i < wanted; ++i) y[i * pairs.out_stride] = packed_line.index_of(ordered[i]);
      });
    });
  };
  return make_kernel(order_lines, layout.bytes());
}

}  // namespace

KernelRef prepare_argsort(const core::Step& step) {
  const auto& attributes = std::get<core::SortAttributes>(*step.attributes);
  return order_kernel(step, {attributes.axis, -1, attributes.descending}, -1, 0);
}

KernelRef prepare_topk(const core::Step& step) {
  const auto& attributes = std::get<core::TopkAttributes>(*step.attributes);
  const std::int64_t axis = attributes.axis < 0 ? attributes.axis + step.inputs[0].view.rank() : attributes.axis;
  return order_kernel(step, {axis, attributes.k, attributes.largest}, 0, 1);
}

}  // namespace tyto::cpu
