// SPDX-License-Identifier: MIT
// A window that slides along an axis, as in convolution and pooling, and the pairs of coordinates that it relates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tyto::cpu {

/// One axis of a convolution or pooling.
struct WindowAxis {
  std::int64_t input = 1;
  std::int64_t kernel = 1;  ///< taps of the window
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_before = 0;
  std::int64_t pad_after = 0;

  /// Positions of the window; 0 when it is larger than the padded input.
  std::int64_t output() const noexcept {
    const std::int64_t room = input + pad_before + pad_after - dilation * (kernel - 1) - 1;
    return room < 0 ? 0 : room / stride + 1;
  }
};

/// Extents of three axes, outermost first.
using Extents = std::array<std::int64_t, 3>;

constexpr std::int64_t product_of(const Extents& extents) noexcept { return extents[0] * extents[1] * extents[2]; }

/// One to three axes brought to three: missing outer axes have one element.
std::array<WindowAxis, 3> three_axes(const std::vector<WindowAxis>& axes);

/// Throws ValueError, beginning with `who`, unless there are one to three axes with sensible values.
void check_axes(const char* who, const std::vector<WindowAxis>& axes);

/// The index pairs of one axis: for each coordinate of one tensor, pairs of coordinates of the other two.
class WindowPairs {
 public:
  struct Pair {
    std::int64_t first, second;
  };
  struct Pairs {
    const Pair* from;
    const Pair* to;
    const Pair* begin() const noexcept { return from; }
    const Pair* end() const noexcept { return to; }
    std::int64_t size() const noexcept { return to - from; }
  };

  /// For each output coordinate: (tap, input coordinate).
  static WindowPairs of_output(const WindowAxis& axis);
  /// For each input coordinate: (tap, output coordinate).
  static WindowPairs of_input(const WindowAxis& axis);
  /// For each tap: (input coordinate, output coordinate).
  static WindowPairs of_tap(const WindowAxis& axis);

  Pairs at(std::int64_t coordinate) const noexcept {
    const auto place = static_cast<std::size_t>(coordinate);
    return {pairs_.data() + starts_[place], pairs_.data() + starts_[place + 1]};
  }

 private:
  template <class Key, class Value>
  WindowPairs(const WindowAxis& axis, std::int64_t keys, const Key& key, const Value& value);

  std::vector<std::size_t> starts_;
  std::vector<Pair> pairs_;
};

using AxisWindowPairs = std::array<WindowPairs, 3>;

inline AxisWindowPairs window_pairs_of(const std::array<WindowAxis, 3>& axes, WindowPairs (*of)(const WindowAxis&)) {
  return {of(axes[0]), of(axes[1]), of(axes[2])};
}

}  // namespace tyto::cpu
