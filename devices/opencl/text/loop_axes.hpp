// SPDX-License-Identifier: MIT
// Axes that a kernel traverses: writes their lengths and strides as arguments, and coordinates as index arithmetic.
#pragma once

#include <string>
#include <string_view>

#include "core/value/view.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

/// At least one axis, so that kernels have a loop.
inline void give_axis(core::View& view) {
  if (view.rank() == 0) view = core::View{{1}, {1}, view.offset};
}

/// The axes [first, past) of a view, at no offset.
inline core::View axes_between(const core::View& view, std::size_t first, std::size_t past) {
  core::View out{{}, {}, 0};
  for (std::size_t axis = first; axis < past; ++axis) {
    out.shape.push_back(view.shape[axis]);
    out.strides.push_back(view.strides[axis]);
  }
  return out;
}

// Lengths and strides as arguments; an innermost stride of 1 or 0 as text.
class LoopAxes {
 public:
  LoopAxes(std::string name, const core::View& view) : name_(std::move(name)), view_(view) {}

  int rank() const { return view_.rank(); }
  std::int64_t length(int axis) const { return view_.shape[static_cast<std::size_t>(axis)]; }
  std::int64_t stride(int axis) const { return view_.strides[static_cast<std::size_t>(axis)]; }
  std::int64_t inner_stride() const { return stride(rank() - 1); }

  void declare_lengths(KernelText& kernel) const {
    for (int axis = 0; axis < rank(); ++axis) kernel.number(core::text(name_, "_n", axis), length(axis));
  }
  void declare_strides(KernelText& kernel) const {
    for (int axis = 0; axis < rank(); ++axis) {
      if (axis == rank() - 1 && is_fixed()) continue;
      kernel.number(core::text(name_, "_s", axis), stride(axis));
    }
  }
  std::string inner_step() const {
    return is_fixed() ? std::to_string(inner_stride()) : core::text(name_, "_s", rank() - 1);
  }
  /// The offset that a counter along the innermost axis adds.
  std::string inner_term(std::string_view counter) const {
    if (inner_stride() == 0) return "";
    return inner_stride() == 1 ? core::text(" + ", counter) : core::text(" + ", counter, " * ", inner_step());
  }

  /// Statements that turn the flat index expression into coordinates NAME_c0, NAME_c1, ... (lengths of `shape`).
  std::string split(std::string_view prefix, std::string_view index, const char* type) const {
    std::string out = core::text(type, " ", prefix, "_rest = ", index, ";");
    for (int axis = rank() - 1; axis > 0; --axis) {
      out += core::text(" ", type, " ", prefix, "_c", axis, " = ", prefix, "_rest % ", name_, "_n", axis, "; ", prefix,
                        "_rest /= ", name_, "_n", axis, ";");
    }
    return out + core::text(" ", type, " ", prefix, "_c0 = ", prefix, "_rest;");
  }
  /// The place of the coordinates, the last `without` axes left out.
  std::string place(std::string_view prefix, int without = 0) const {
    std::string out = "0";
    for (int axis = 0; axis + without < rank(); ++axis) {
      const std::string coordinate = core::text(prefix, "_c", axis);
      out += axis == rank() - 1 ? inner_term(coordinate) : core::text(" + ", coordinate, " * ", name_, "_s", axis);
    }
    return out;
  }
  /// Statements that step the coordinates of the outer axes on by one.
  std::string advance(std::string_view prefix) const {
    std::string out;
    int open = 0;
    for (int axis = rank() - 2; axis > 0; --axis, ++open) {
      out += core::text("if (++", prefix, "_c", axis, " == ", name_, "_n", axis, ") { ", prefix, "_c", axis, " = 0; ");
    }
    if (rank() > 1) out += core::text("++", prefix, "_c0;");
    return out + std::string(static_cast<std::size_t>(open), '}');
  }
  /// Statements that step the innermost coordinate on, and the outer ones with it.
  std::string advance_inner(std::string_view prefix, std::int64_t by) const {
    const std::string inner = core::text(prefix, "_c", rank() - 1), length = core::text(name_, "_n", rank() - 1);
    std::string out = core::text(inner, " += ", by, ";");
    if (rank() == 1) return out;
    return core::text(out, " while (", inner, " >= ", length, ") { ", inner, " -= ", length, "; ", advance(prefix),
                      " }");
  }

 private:
  bool is_fixed() const { return inner_stride() == 0 || inner_stride() == 1; }

  std::string name_;
  const core::View& view_;
};

}  // namespace tyto::opencl
