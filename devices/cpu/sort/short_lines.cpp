// SPDX-License-Identifier: MIT
// Orders of short lines: each is a lane of vectors, so that many are sorted by the same exchanges of neighbours.
#include <algorithm>
#include <array>

#include "devices/cpu/sort/key_lines.hpp"
#include "devices/cpu/sort/sort.hpp"

namespace tyto::cpu {

namespace {

/// Calls f with a number as wide as elements of `size` bytes.
template <class F>
void with_bits(std::size_t size, const F& f) {
  switch (size) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
  }
}

}  // namespace

KernelRef order_short_lines(const core::Step& step, std::int64_t axis, bool descending, int values, int indices,
                            IntList ranks) {
  const LinePairs pairs(step, axis);
  const LineKeys keys_of(step.inputs[0].dtype, descending);
  if (pairs.count > keys_of.short_line()) return nullptr;
  const core::View& out = step.outputs[0].view;
  const std::int64_t wanted = out.rank() == 0 ? 1 : out.shape[static_cast<std::size_t>(axis)];
  for (std::int64_t i = ranks.empty() ? 0 : wanted; i < wanted; ++i) ranks.push_back(i);
  const auto order_lines = [=](Addresses inputs, Addresses outputs, core::Address) {
    const auto order_range = [&]<class E>(const Range& mine, E) {
      std::array<E, longest_short_line * lines_beside> elements{};
      std::array<std::int64_t, longest_short_line * lines_beside> keys, order;
      const E* x = reinterpret_cast<const E*>(inputs[0].pointer());
      E* y = values < 0 ? nullptr : reinterpret_cast<E*>(outputs[static_cast<std::size_t>(values)].pointer());
      auto* places =
          indices < 0 ? nullptr : reinterpret_cast<std::int64_t*>(outputs[static_cast<std::size_t>(indices)].pointer());
      for (Range some = mine; some.begin < mine.end; some.begin = some.end) {
        some.end = std::min(some.begin + lines_beside, mine.end);
        pairs.lines.each(some, [&](std::int64_t line, const StridedIterator<2>::Offsets& offsets) {
          E* to = elements.data() + (line - some.begin);
          for (std::int64_t i = 0; i < pairs.count; ++i) to[i * lines_beside] = x[offsets[0] + i * pairs.in_stride];
        });
        keys_of.read(elements.data(), pairs.count * lines_beside, 1, keys.data(), nullptr);
        keys_of.with_keys(keys.data(), order.data(), [&]<class K>(const KeyLoops<K>& loops, K* own, K* sorted) {
          loops.order_columns(own, sorted, static_cast<int>(pairs.count));
          pairs.lines.each(some, [&](std::int64_t line, const StridedIterator<2>::Offsets& offsets) {
            const std::int64_t lane = line - some.begin;
            for (std::int64_t i = 0; i < wanted; ++i) {
              const std::int64_t place = sorted[ranks[static_cast<std::size_t>(i)] * lines_beside + lane];
              const std::int64_t at = offsets[1] + i * pairs.out_stride;
              if (y != nullptr) y[at] = elements[static_cast<std::size_t>(place * lines_beside + lane)];
              if (places != nullptr) places[at] = place;
            }
          });
        });
      }
    };
    run_team(pairs.team_size, [&](Team team) {
      const Range mine = share(pairs.work, team.member, team.size);
      with_bits(keys_of.element_size(), [&](auto element) { order_range(mine, element); });
    });
  };
  return make_kernel(order_lines);
}

}  // namespace tyto::cpu
