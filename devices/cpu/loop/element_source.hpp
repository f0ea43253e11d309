// SPDX-License-Identifier: MIT
// Elements that are computed when they are asked for, in place of a tensor in memory.
#pragma once

#include <cstddef>
#include <span>

#include "core/device/device.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

class ElementSource {
 public:
  virtual ~ElementSource() = default;
  /// Rough cost of all elements on one thread.
  virtual double nanoseconds() const = 0;
  /// Writes the elements with these numbers (in row-major order) to `to`, without gaps.
  virtual void produce(std::span<const core::Address> inputs, Range elements, std::byte* to) const = 0;
  /// Whether it can sum without writing, as machine code does.
  virtual bool sums() const { return false; }
  /// Adds the elements with these numbers, of one line, to a double, as Fold::sum adds a line in memory.
  virtual void sum(std::span<const core::Address>, Range, double*) const {}
  /// The same for each of these whole lines of `length` elements, to doubles that are 0.
  virtual void sum_lines(std::span<const core::Address>, Range, std::int64_t, double*) const {}
};

}  // namespace tyto::cpu
