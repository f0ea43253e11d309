// SPDX-License-Identifier: MIT
// Resizing as ONNX defines it: coordinates of each element of the result, and the weights of its neighbours.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

struct ResizedAxis {
  std::int64_t axis = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  double scale = 1;
  std::optional<std::pair<double, double>> box = {};  // of the axis, from 0 to 1, for tf_crop_and_resize
};

/// The attributes of Resize.
struct ResizingRules {
  std::string method;       // nearest, linear, cubic
  std::string coordinates;  // half_pixel, align_corners, ...
  std::string nearest;      // round_prefer_floor, round_prefer_ceil, floor, ceil
  double cubic = -0.75;
  double outside = 0;            // what lies outside of a box
  bool exclude_outside = false;  // whether elements outside do not count, or stand for the one at the edge
  bool antialias = false;
};

ResizingRules resizing_rules(const OperatorCall& call);

/// Brings lengths to one common scale where the node asks for it.
void keep_aspect_ratio(const OperatorCall& call, std::vector<ResizedAxis>& axes);

/// x (batch, channels, spatial...) with its axes resized.
Array resized_by(const OperatorCall& call, const Array& x, const std::vector<ResizedAxis>& axes,
                 const ResizingRules& rules);

}  // namespace tyto::onnx
