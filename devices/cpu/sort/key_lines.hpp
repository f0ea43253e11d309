// SPDX-License-Identifier: MIT
// Lines of a tensor along one axis, read as keys and written from keys, wherever and in whichever type they lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/device/device.hpp"
#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/moves/strided_iterator.hpp"
#include "devices/cpu/sort/order_key.hpp"
#include "devices/cpu/sort/sort_loops.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

/// Iterates over the lines of an input along an axis together with those of its results; also a thread count for them.
struct LinePairs {
  std::int64_t count, in_stride, out_stride;  ///< of an input's line
  StridedIterator<2> lines;
  std::int64_t work;  ///< lines that have elements
  int team_size;

  LinePairs(const core::Step& step, std::int64_t axis);
};

/// Strided lines, each next to the following one in memory: several are copied together, so that all of what
/// a cache line holds is used, and kernels find them dense.
struct ColumnLines {
  std::int64_t together = 0;  ///< lines that are copied at a time; 0 where they are left as they lie
  std::int64_t beside = 1;    ///< lines that lie side by side
  std::int64_t in_stride = 1, out_stride = 1, in_count = 0, out_count = 0;
  std::size_t in_size = 0, out_size = 0;

  /// Makes the strides of `pairs` those of the copies.
  ColumnLines(const core::Step& step, std::int64_t axis, LinePairs& pairs);

  std::size_t in_bytes() const noexcept { return static_cast<std::size_t>(together * in_count) * in_size; }
  std::size_t out_bytes() const noexcept { return static_cast<std::size_t>(together * out_count) * out_size; }
  void read(const std::byte* from, std::int64_t lines, std::byte* to) const;
  void write(const std::byte* from, std::int64_t lines, std::byte* to) const;
};

/// Elements of a type as keys, along lines of any stride.
class LineKeys {
 public:
  LineKeys(DType dtype, bool descending)
      : loops_(sort_loops(instruction_set())),
        elements_(loops_.elements(dtype)),
        dtype_(dtype),
        size_(size_of(dtype)),
        floating_(is_floating(dtype)),
        descending_(descending),
        same_((dtype == DType::i32 || dtype == DType::i64) && !descending) {}

  bool are_wide() const noexcept { return size_ == 8; }
  std::size_t element_size() const noexcept { return size_; }
  std::size_t size() const noexcept { return are_wide() ? 8 : 4; }
  const SortLoops& loops() const noexcept { return loops_; }
  std::int64_t short_line() const noexcept { return are_wide() ? loops_.wide.short_line : loops_.narrow.short_line; }

  /// Whether a key is that of NaN, which is the greatest.
  bool is_nan(std::int64_t key) const noexcept { return floating_ && key == (INT64_MAX >> (64 - 8 * size_)); }

  /// Calls f(loops, keys, others) with the loops for these keys and two arrays of them.
  template <class F>
  void with_keys(void* keys, void* others, F&& f) const {
    if (are_wide()) f(loops_.wide, static_cast<std::int64_t*>(keys), static_cast<std::int64_t*>(others));
    else f(loops_.narrow, static_cast<std::int32_t*>(keys), static_cast<std::int32_t*>(others));
  }

  /// Fills `keys` from a line; `others` is room for as many. Returns whether the line has a negative zero.
  bool read(const void* line, std::int64_t count, std::int64_t stride, void* keys, void* others) const;
  /// Whether the elements of a line are its keys, as they lie.
  bool are_elements(std::int64_t stride) const noexcept { return same_ && stride == 1; }
  /// Whether elements are as wide as their keys, and parted as they are; the keys of others are.
  bool are_parted() const noexcept { return size_ >= 4; }
  template <class K>
  PartLoops<K> part_loops() const {
    return loops_.parts<K>(dtype_);
  }
  /// Whether 0 and -0 have one key.
  bool have_signed_zeros() const noexcept { return floating_; }
  /// The elements of a line to partition, side by side: as they lie, or else as keys in `keys`; `others` has room for
  /// as many. Sets `lost_signs` where keys stand for negative zeros.
  const void* to_part(const void* line, std::int64_t count, std::int64_t stride, void* keys, void* others,
                      bool& lost_signs) const;
  /// Writes partitioned elements to a line.
  void write_parted(const void* parted, std::int64_t count, void* line, std::int64_t stride) const;
  /// The partitioned form of an element with this key.
  template <class K>
  K parted_of(K key) const {
    if (are_parted()) elements_.decode(&key, 1, descending_, &key);
    return key;
  }
  /// Writes elements with these keys to a line.
  void write(const void* keys, std::int64_t count, void* line, std::int64_t stride) const;

 private:
  const SortLoops& loops_;
  ElementLoops elements_;
  DType dtype_;
  std::size_t size_;
  bool floating_;
  bool descending_;
  bool same_;  ///< elements are their keys
};

/// Calls f with the bits of each element of a line of floating-point numbers that is zero, of either sign.
template <class F>
void each_zero(const std::byte* line, std::int64_t count, std::int64_t stride, std::size_t size, const F& f) {
  const auto visit = [&]<class Bits>(Bits) {
    const Bits* x = reinterpret_cast<const Bits*>(line);
    for (std::int64_t i = 0; i < count; ++i) {
      if (static_cast<Bits>(x[i * stride] << 1) == 0) f(x + i * stride);
    }
  };
  if (size == 2) visit(std::uint16_t{});
  else if (size == 4) visit(std::uint32_t{});
  else visit(std::uint64_t{});
}

/// Calls line_kernel(in, out, keys, others) for each line, on as many threads as they are worth, with two arrays of as
/// many keys as are wanted, or with one that both are.
template <class LineKernel>
KernelRef each_key_line(const core::Step& step, const LinePairs& pairs, const ColumnLines& columns, int arrays,
                        std::int64_t keys, std::size_t key_size, LineKernel line_kernel) {
  WorkspaceLayout layout;
  std::size_t distance = 0, copy_distance = 0;
  const auto members = static_cast<std::size_t>(std::min<std::int64_t>(pairs.team_size, pairs.work));
  layout.reserve_each(static_cast<std::size_t>(arrays) * members, static_cast<std::size_t>(keys) * key_size, distance);
  const std::size_t copies =
      layout.reserve_each(2 * members, std::max(columns.in_bytes(), columns.out_bytes()), copy_distance);
  const auto size = static_cast<std::int64_t>(size_of(step.inputs[0].dtype));
  const auto out_size = static_cast<std::int64_t>(size_of(step.outputs[0].dtype));
  const auto run_lines = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
    run_team(pairs.team_size, [&](Team team) {
      const Range mine = share(pairs.work, team.member, team.size);
      if (mine.size() == 0) return;
      const auto member = static_cast<std::size_t>(team.member);
      std::byte* own = workspace.pointer() + static_cast<std::size_t>(arrays) * member * distance;
      std::byte* others = own + static_cast<std::size_t>(arrays - 1) * distance;
      if (columns.together == 0) {
        pairs.lines.each(mine, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
          line_kernel(inputs[0].pointer() + offsets[0] * size, outputs[0].pointer() + offsets[1] * out_size, own,
                      others);
        });
        return;
      }
      std::byte* in = workspace.pointer() + copies + 2 * member * copy_distance;
      std::byte* out = in + copy_distance;
      for (std::int64_t line = mine.begin, some; line < mine.end; line += some) {
        some = std::min({columns.together, mine.end - line, columns.beside - line % columns.beside});
        const auto offsets = pairs.lines.at(line);
        columns.read(inputs[0].pointer() + offsets[0] * size, some, in);
        for (std::int64_t i = 0; i < some; ++i) {
          line_kernel(in + i * columns.in_count * size, out + i * columns.out_count * out_size, own, others);
        }
        columns.write(out, some, outputs[0].pointer() + offsets[1] * out_size);
      }
    });
  };
  return make_kernel(run_lines, layout.bytes());
}

}  // namespace tyto::cpu
