// SPDX-License-Identifier: MIT
// Elements that a loop computes on demand, in place of a tensor in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/range_program.hpp"

namespace tyto::cpu {

/// The only output of a loop, computed in lines of `length` elements, and where it has a program for them, its sums.
class ElementSource {
 public:
  /// Programs for all lines, for several lines of which operands lie across (null: none do), for parts of such lines,
  /// `part_pitch` elements apart, and for sums (null: none are asked for, or are without writing).
  struct Programs {
    std::shared_ptr<const RangeProgram> elements, across, across_parts, sums;
    std::int64_t part_pitch = 0;
  };

  ElementSource(Programs programs, std::int64_t length, std::int64_t rows, std::size_t width, std::int64_t summed)
      : programs_(std::move(programs)), length_(length), rows_(rows), summed_(summed), width_(width) {}

  /// Rough cost of all elements on one thread.
  double nanoseconds() const { return programs_.elements->nanoseconds(); }
  /// How many elements are to be computed together, at the least: lines of which operands lie across.
  std::int64_t at_once() const { return programs_.across == nullptr ? 1 : rows_ * length_; }
  /// Writes the elements with these numbers (in row-major order) to `to`, without gaps.
  void produce(Addresses inputs, Range elements, std::byte* to) const;
  /// Writes `count` parts of lines, from element `first` on, `width` elements each; returns how many elements lie from
  /// the beginning of one to that of the next.
  std::int64_t produce_parts(Addresses inputs, std::int64_t first, std::int64_t step, std::int64_t count,
                             std::int64_t width, std::byte* to) const;
  /// Whether it can sum without writing, as machine code does.
  bool sums() const { return programs_.sums != nullptr; }
  /// Adds the elements with these numbers, of one line, to a double, as Fold::sum adds a line in memory.
  void sum(Addresses inputs, Range elements, double* sum) const;
  /// The same for each of these whole lines, to doubles that are 0.
  void sum_lines(Addresses inputs, Range lines, double* sums) const;

 private:
  Programs programs_;
  std::int64_t length_, rows_, summed_;
  std::size_t width_;  // bytes of an element
};

/// Prepares the source of a loop, which computes range by range: its only output is dense and never stored as a whole.
/// Nothing may be empty. `summed`: how many neighbouring elements make one sum, 0 where they are not summed. Only
/// machine code sums what it computes without writing it.
std::shared_ptr<const ElementSource> prepare_source(const core::BoundLoop& bound, std::int64_t summed = 0,
                                                    const KernelChoice& choice = {});

}  // namespace tyto::cpu
