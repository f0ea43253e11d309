// SPDX-License-Identifier: MIT
// A work-item for each element of a shape, with the coordinates of that element.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/value/view.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

class CoordinateLoop {
 public:
  CoordinateLoop(const Context& context, const Shape& shape);

  /// Declares lengths, and begins the text with the coordinates of the item's element.
  void open(KernelText& kernel) const;
  /// The whole kernel, launched with an item an element.
  KernelLaunch close(KernelText& kernel) const;

  /// The coordinate along an axis.
  std::string coordinate(std::int64_t axis) const;
  /// The element's number in row-major order.
  static constexpr std::string_view number = "i";

 private:
  std::int64_t rank() const { return static_cast<std::int64_t>(shape_.size()); }

  const Context& context_;
  Shape shape_;  // at least one axis
  std::int64_t count_;
};

/// Whether indices into these views and counts of their elements fit an int with room for sums.
bool fits_int(std::span<const core::View> views);
/// The same of a step's inputs and its first output.
bool fits_int(const core::Step& step);

/// An operand's strides as arguments, and positions in it as text.
class StridedMemory {
 public:
  StridedMemory(std::string name, const core::View& view) : name_(std::move(name)), view_(view) {}

  void declare(KernelText& kernel) const;
  /// Elements from the operand's start to these coordinates, of which an empty one counts for nothing.
  std::string place(std::span<const std::string> coordinates) const;

 private:
  std::string name_;
  const core::View& view_;
};

}  // namespace tyto::opencl
