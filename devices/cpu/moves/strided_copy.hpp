// SPDX-License-Identifier: MIT
// Copies elements of any width between two strided places of one shape, in runs of memory where the layouts allow it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "devices/cpu/moves/strided_iterator.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

/// A rectangle of elements in two places; strides in elements.
struct CopyBlock {
  std::int64_t rows = 1, columns = 1;
  std::int64_t from_row = 0, from_column = 1;
  std::int64_t to_row = 0, to_column = 1;
};

/// A block whose rows lie side by side where they come from, and whose columns do where they go.
void copy_transposed(const std::byte* from, std::byte* to, const CopyBlock& block, std::size_t element);

using CopyFunction = void (*)(const std::byte* from, std::byte* to, const CopyBlock& block);
/// The fastest loop for a block of this layout.
CopyFunction copy_function(const CopyBlock& block, std::size_t element);

/// Chosen once from the layouts; then run any number of times, from and to any address.
class StridedCopy {
 public:
  StridedCopy() = default;
  /// The views have one shape and count elements of `element` bytes from the addresses given to run.
  StridedCopy(const core::View& from, const core::View& to, std::size_t element);

  std::int64_t bytes() const { return bytes_; }

  /// Parts that threads may share; any split gives the same result.
  std::int64_t units() const { return outer_.count() * chunks_; }

  /// Whether the copy fills one contiguous run of memory.
  bool fills_run() const { return fills_run_; }
  bool is_run() const { return fills_run_ && same_layout_; }

  /// A run of memory that goes to every `step`-th element from `to` on; offsets in elements.
  struct Plane {
    std::int64_t from, to, step, count;
  };
  std::optional<Plane> plane() const;

  void run(const std::byte* from, std::byte* to) const { run(from, to, {0, units()}); }
  void run(const std::byte* from, std::byte* to, Range units) const;

  /// True where a run with these addresses would copy every element onto itself.
  bool in_place(const std::byte* from, const std::byte* to) const { return same_layout_ && from + shift_ == to; }

 private:
  StridedIterator<2> outer_;  // what the blocks leave over
  CopyBlock block_;
  CopyFunction copy_ = nullptr;
  std::int64_t chunks_ = 1;  // parts that a block is cut into
  std::int64_t chunk_ = 1;   // rows of a part, or columns where there is one row
  std::int64_t element_ = 1, bytes_ = 0;
  std::ptrdiff_t shift_ = 0;
  bool same_layout_ = false, fills_run_ = false;
};

/// Copies that write to different places of one result, shared among threads.
class CopyList {
 public:
  void add(std::size_t input, const core::View& from, const core::View& to, std::size_t element);
  std::int64_t bytes() const { return bytes_; }

  /// A member's share of all copies. Those that lie between each other take turns, so that a cache line that they share
  /// goes to memory once.
  template <class Inputs>
  void run(const Inputs& inputs, std::byte* to, Team team) const {
    if (items_.empty()) return;
    if (interleave_ != nullptr && planes_ == static_cast<std::int64_t>(items_.size())) {
      std::array<const std::byte*, most_planes> from;
      for (std::size_t i = 0; i < items_.size(); ++i) from[i] = inputs[items_[i].input].pointer() + plane_offsets_[i];
      return interleave_(from.data(), to + first_to_, share(plane_count_, team.member, team.size));
    }
    const std::int64_t turns = turns_for(team);
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      for (const auto& [input, copy] : items_) {
        const std::byte* from = inputs[input].pointer();
        if (copy.in_place(from, to)) continue;
        const Range own = share(copy.units(), team.member, team.size), part = share(own.size(), turn, turns);
        copy.run(from, to, {own.begin + part.begin, own.begin + part.end});
      }
    }
  }

 private:
  struct Item {
    std::size_t input;
    StridedCopy copy;
  };

  using Interleave = void (*)(const std::byte* const* from, std::byte* to, Range elements);
  static constexpr std::int64_t most_planes = 4;

  void add_plane(const StridedCopy& copy, std::int64_t element);
  std::int64_t turns_for(Team team) const;

  std::vector<Item> items_;
  std::int64_t bytes_ = 0;
  bool interleaved_ = true;  // cut alike, none of them is a run of its own

  // Planes whose elements lie side by side, if there are as many as the distance between the elements of one.
  Interleave interleave_ = nullptr;
  std::array<std::int64_t, most_planes> plane_offsets_{};
  std::int64_t planes_ = 0, plane_count_ = 0, first_to_ = 0;
};

/// Threads for copying so many bytes.
inline int threads_to_copy(std::int64_t bytes) {
  return threads_for(machine::nanoseconds_to_move(2 * static_cast<double>(bytes)));
}

}  // namespace tyto::cpu
