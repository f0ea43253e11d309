// SPDX-License-Identifier: MIT
// Elements that are computed when they are asked for, in place of a tensor in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/range_program.hpp"

namespace tyto::cpu {

/// The only output of a loop, computed in lines of `length` elements, and where `sums` is not null its sums.
class ElementSource {
 public:
  ElementSource(std::shared_ptr<const RangeProgram> elements, std::int64_t length, std::size_t width,
                std::shared_ptr<const RangeProgram> sums, std::int64_t summed)
      : elements_(std::move(elements)), sums_(std::move(sums)), length_(length), summed_(summed), width_(width) {}

  /// Rough cost of all elements on one thread.
  double nanoseconds() const { return elements_->nanoseconds(); }
  /// Writes the elements with these numbers (in row-major order) to `to`, without gaps.
  void produce(Addresses inputs, Range elements, std::byte* to) const;
  /// Whether it can sum without writing, as machine code does.
  bool sums() const { return sums_ != nullptr; }
  /// Adds the elements with these numbers, of one line, to a double, as Fold::sum adds a line in memory.
  void sum(Addresses inputs, Range elements, double* sum) const;
  /// The same for each of these whole lines, to doubles that are 0.
  void sum_lines(Addresses inputs, Range lines, double* sums) const;

 private:
  std::shared_ptr<const RangeProgram> elements_, sums_;
  std::int64_t length_, summed_;
  std::size_t width_;  // bytes of an element
};

/// What a loop computes, range by range: its only output is dense and nowhere as a whole. Nothing may be empty.
/// `summed`: how many neighbouring elements make one sum, 0 where they are not summed. Only machine code sums what it
/// computes without writing it.
std::shared_ptr<const ElementSource> prepare_source(const core::BoundLoop& bound, std::int64_t summed = 0,
                                                    const KernelChoice& choice = {});

}  // namespace tyto::cpu
