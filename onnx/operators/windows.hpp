// SPDX-License-Identifier: MIT
// Windows over spatial axes as ONNX states them: kernel, strides, dilations, and padding by numbers or by a rule.
#pragma once

#include <string_view>

#include "onnx/program/operator_call.hpp"
#include "tyto/windows.hpp"

namespace tyto::onnx {

struct Windows {
  IntList kernel;
  IntList stride;
  IntList dilation;
  IntList before;         // padding
  IntList after;          // padding, with what windows need that stand out over it
  IntList counted_after;  // padding as stated
  IntList results;        // how many windows there are, none where the first one does not fit

  std::size_t axes() const { return kernel.size(); }
  std::int64_t reach(std::size_t i) const { return (kernel[i] - 1) * dilation[i] + 1; }
  std::int64_t size() const { return element_count(kernel); }
  bool any() const { return element_count(results) != 0; }
  Padding padding() const { return {before, after}; }
  /// Whether windows stand out over the stated padding.
  bool overhang() const { return !(after == counted_after); }
};

/// Reads `kernel_shape` (or takes `kernel`), `strides`, `dilations`, `pads`, `auto_pad` and `ceil_mode` of a node whose
/// first input is (batch, channels, spatial...).
Windows windows_of(const OperatorCall& call, const Shape& input, const IntList& kernel = {});

/// Means of windows of x (batch, channels, spatial...), as AveragePool states them.
Array window_means(const OperatorCall& call, const Array& x);

/// A list of one number for each spatial axis, all `otherwise` when the attribute is missing.
IntList per_spatial_axis(const OperatorCall& call, const char* attribute, std::size_t axes, std::int64_t otherwise);

/// A number for each channel, as x (batch, channels, spatial...) can be combined with.
Array by_channel(const Array& numbers, int rank);

}  // namespace tyto::onnx
