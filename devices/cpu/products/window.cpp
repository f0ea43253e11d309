// SPDX-License-Identifier: MIT
// Checks windows, and lists which coordinates of input, kernel and output belong together.
#include "devices/cpu/products/window.hpp"

#include <string>

#include <tyto/error.hpp>

#include "core/value/text.hpp"

namespace tyto::cpu {

namespace {

template <class Meet>
void for_each_meeting(const WindowAxis& axis, const Meet& meet) {
  for (std::int64_t out = 0; out < axis.output(); ++out) {
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const std::int64_t in = out * axis.stride - axis.pad_before + tap * axis.dilation;
      if (in >= 0 && in < axis.input) meet(in, tap, out);
    }
  }
}

}  // namespace

std::array<WindowAxis, 3> three_axes(const std::vector<WindowAxis>& axes) {
  std::array<WindowAxis, 3> all;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) all[3 - axes.size() + axis] = axes[axis];
  return all;
}

void check_axes(const char* who, const std::vector<WindowAxis>& axes) {
  const auto refuse = [&](const auto&... parts) { core::throw_error<ValueError>(who, ": ", parts...); };
  if (axes.empty() || axes.size() > 3) refuse("one to three axes, got ", axes.size());
  for (const WindowAxis& axis : axes) {
    if (axis.input < 0 || axis.kernel < 0 || axis.pad_before < 0 || axis.pad_after < 0) {
      refuse("extents and padding must not be negative");
    }
    if (axis.stride < 1 || axis.dilation < 1) {
      refuse("stride and dilation must be at least 1, got ", axis.stride, " and ", axis.dilation);
    }
  }
}

// Counting sort of the meetings by one of their three coordinates.
template <class Key, class Value>
WindowPairs::WindowPairs(const WindowAxis& axis, std::int64_t keys, const Key& key, const Value& value)
    : starts_(static_cast<std::size_t>(keys) + 1, 0) {
  for_each_meeting(axis, [&](std::int64_t in, std::int64_t tap, std::int64_t out) {
    ++starts_[static_cast<std::size_t>(key(in, tap, out)) + 1];
  });
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  pairs_.resize(starts_.back());
  std::vector<std::size_t> next(starts_);
  for_each_meeting(axis, [&](std::int64_t in, std::int64_t tap, std::int64_t out) {
    pairs_[next[static_cast<std::size_t>(key(in, tap, out))]++] = value(in, tap, out);
  });
}

WindowPairs WindowPairs::of_output(const WindowAxis& axis) {
  const auto key = [](auto, auto, auto out) { return out; };
  return WindowPairs(axis, axis.output(), key, [](auto in, auto tap, auto) { return Pair{tap, in}; });
}

WindowPairs WindowPairs::of_input(const WindowAxis& axis) {
  const auto key = [](auto in, auto, auto) { return in; };
  return WindowPairs(axis, axis.input, key, [](auto, auto tap, auto out) { return Pair{tap, out}; });
}

WindowPairs WindowPairs::of_tap(const WindowAxis& axis) {
  const auto key = [](auto, auto tap, auto) { return tap; };
  return WindowPairs(axis, axis.kernel, key, [](auto in, auto, auto out) { return Pair{in, out}; });
}

}  // namespace tyto::cpu
