// Copies elements of any width between two strided places of one shape, in runs of memory where the layouts allow it.
#pragma once

#include <cstddef>
#include <vector>

#include "devices/cpu/strided_iterator.hpp"

namespace tyto::cpu {

/// A rectangle of elements in two places; strides in elements.
struct CopyBlock {
  std::int64_t rows = 1, columns = 1;
  std::int64_t from_row = 0, from_column = 1;
  std::int64_t to_row = 0, to_column = 1;
};

/// Chosen once from the layouts; then run any number of times, from and to any address.
class StridedCopy {
 public:
  StridedCopy() = default;
  /// The views have one shape and count elements of `element` bytes from the addresses given to run.
  StridedCopy(const core::View& from, const core::View& to, std::size_t element);

  std::int64_t bytes() const { return bytes_; }

  /// Parts that threads may share; any split gives the same result.
  std::int64_t units() const { return outer_.count() * chunks_; }

  void run(const std::byte* from, std::byte* to) const { run(from, to, {0, units()}); }
  void run(const std::byte* from, std::byte* to, Range units) const;

  /// True when a run with these addresses would copy every element onto itself.
  bool in_place(const std::byte* from, const std::byte* to) const { return same_layout_ && from + shift_ == to; }

 private:
  using CopyFunction = void (*)(const std::byte* from, std::byte* to, const CopyBlock& block);

  StridedIterator<2> outer_;  // what the blocks leave over
  CopyBlock block_;
  CopyFunction copy_ = nullptr;
  std::int64_t chunks_ = 1;  // parts that a block is cut into
  std::int64_t chunk_ = 1;   // rows of a part, or columns where there is one row
  std::int64_t element_ = 1, bytes_ = 0;
  std::ptrdiff_t shift_ = 0;
  bool same_layout_ = false;
};

/// Copies that write to different places of one result, shared among threads.
class CopyList {
 public:
  void add(std::size_t input, const core::View& from, const core::View& to, std::size_t element);
  std::int64_t bytes() const { return bytes_; }

  /// A member's share of all copies.
  template <class Inputs>
  void run(const Inputs& inputs, std::byte* to, Team team) const {
    for (const auto& [input, copy] : items_) {
      const std::byte* from = inputs[input].pointer();
      if (!copy.in_place(from, to)) copy.run(from, to, share(copy.units(), team.member, team.size));
    }
  }

 private:
  struct Item {
    std::size_t input;
    StridedCopy copy;
  };
  std::vector<Item> items_;
  std::int64_t bytes_ = 0;
};

/// Threads for moving so many bytes: both directions go through a cache that gives about 10 bytes a nanosecond.
inline int threads_to_move(std::int64_t bytes) { return threads_for(static_cast<double>(bytes) / 10); }

}  // namespace tyto::cpu
