// SPDX-License-Identifier: MIT
// Normalisation for operators that do it alone and for those that have it fused in.
#pragma once

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

struct Normalised {
  Array result;
  Array mean;
  Array inverse_deviation;
};

/// Normalises to a mean of 0 and a deviation of 1 over the axes.
Normalised normalised(const Array& x, const Axes& axes, double epsilon);
/// Divided by the root of the mean square over the axes.
Array root_mean_square_normalised(const Array& x, const Axes& axes, double epsilon);
/// Axis `from` and those behind it.
Axes last_axes(std::int64_t from, int rank);

}  // namespace tyto::onnx
