// SPDX-License-Identifier: MIT
// Resizes by Tyto's own operators where they agree with ONNX, and by a matrix of weights along each axis elsewhere.
#include "onnx/operators/resizing.hpp"

#include <algorithm>
#include <cmath>

#include "tyto/elementwise.hpp"
#include "tyto/products.hpp"
#include "tyto/resampling.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

/// Where element i is read. Lengths that scales make are not rounded here, as the standard has it.
double place_of(std::int64_t i, const ResizedAxis& axis, const ResizingRules& rules) {
  const double at = static_cast<double>(i), from = static_cast<double>(axis.from), to = axis.scale * from;
  if (rules.coordinates == "align_corners") return to == 1 ? 0 : at * (from - 1) / (to - 1);
  if (rules.coordinates == "asymmetric") return at / axis.scale;
  if (rules.coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (rules.coordinates == "pytorch_half_pixel" && axis.to == 1) return 0;
  if (rules.coordinates == "tf_crop_and_resize") {
    const auto [begin, end] = *axis.box;
    return to == 1 ? 0.5 * (begin + end) * (from - 1) : begin * (from - 1) + at * (end - begin) * (from - 1) / (to - 1);
  }
  const double place = (at + 0.5) / axis.scale - 0.5;
  if (rules.coordinates != "half_pixel_symmetric") return place;
  return place + from / 2 * (1 - static_cast<double>(axis.to) / to);
}

double nearest_to(double place, const std::string& rule) {
  if (rule == "round_prefer_floor") return std::ceil(place - 0.5);
  if (rule == "round_prefer_ceil") return std::floor(place + 0.5);
  return rule == "floor" ? std::floor(place) : std::ceil(place);
}

double linear_kernel(double distance) { return std::max(0.0, 1 - std::abs(distance)); }
double cubic_kernel(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// How much each element of the axis counts for one that is read at `place`.
std::vector<double> weights_at(double place, const ResizedAxis& axis, const ResizingRules& rules) {
  std::vector<double> weights(static_cast<std::size_t>(axis.from), 0);
  const auto at_edge = [&](double element) {
    return static_cast<std::size_t>(std::clamp(element, 0.0, static_cast<double>(axis.from - 1)));
  };
  if (rules.method == "nearest") {
    weights[at_edge(nearest_to(place, rules.nearest))] = 1;
    return weights;
  }
  const bool cubic = rules.method == "cubic";
  // A shrunk image takes all elements that fall into one of the result.
  const double shrink = rules.antialias ? std::min(axis.scale, 1.0) : 1;
  const double reach = (cubic ? 2 : 1) / shrink, base = std::ceil(place) - 1;
  double total = 0, inside = 0;
  for (double step = std::floor(-reach) + 1; step < 1 - std::floor(-reach); ++step) {
    const double element = base + step, distance = (element - place) * shrink;
    const double weight = cubic ? cubic_kernel(distance, rules.cubic) : linear_kernel(distance);
    const bool is_inside = element >= 0 && element <= static_cast<double>(axis.from - 1);
    total += weight;
    inside += is_inside ? weight : 0;
    if (is_inside || !rules.exclude_outside) weights[at_edge(element)] += weight;
  }
  const double whole = rules.exclude_outside ? inside : total;
  for (double& weight : weights) weight /= whole;
  return weights;
}

// Along an axis the result is a matrix times the input; outside of a box it is a number.
Array along_axis_by_weights(const Array& x, const ResizedAxis& axis, const ResizingRules& rules) {
  std::vector<double> matrix;
  if (axis.to > (std::int64_t{1} << 40) / axis.from) {
    core::throw_error<ShapeError>("axis ", axis.axis, " of ", axis.from, " to length ", axis.to);
  }
  require_numbers(axis.to, axis.from);
  matrix.reserve(static_cast<std::size_t>(axis.to * axis.from));  // or fail at once
  std::vector<std::int64_t> outside;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double place = place_of(i, axis, rules);
    const std::vector<double> row = weights_at(place, axis, rules);
    matrix.insert(matrix.end(), row.begin(), row.end());
    outside.push_back(axis.box && (place < 0 || place > static_cast<double>(axis.from - 1)) ? 1 : 0);
  }
  const Array weights =
      cast(Array::from(matrix, {axis.to, axis.from}), is_floating(x.dtype()) ? x.dtype() : DType::f32);
  Array y = moveaxis(tensordot(x, weights, {axis.axis}, {1}), -1, axis.axis);
  if (axis.box) {
    Shape along(static_cast<std::size_t>(x.ndim()), 1);
    along[static_cast<std::size_t>(axis.axis)] = axis.to;
    y = where(reshape(Array::from(outside, {axis.to}), along), rules.outside, y);
  }
  return cast(rules.method != "nearest" && !is_floating(x.dtype()) ? round(y) : y, x.dtype());
}

std::optional<Interpolation> interpolation_of(const std::string& method) {
  if (method == "nearest") return Interpolation::nearest;
  if (method == "linear") return Interpolation::linear;
  if (method == "cubic") return Interpolation::cubic;
  return std::nullopt;
}

/// Options that say the same as the rules; none where no options do.
std::optional<ResizeOptions> options_for(const std::vector<ResizedAxis>& axes, const ResizingRules& rules) {
  ResizeOptions options;
  options.method = *interpolation_of(rules.method);
  options.cubic = rules.cubic;
  if (rules.exclude_outside || rules.antialias) return std::nullopt;
  if (rules.coordinates == "half_pixel") options.coordinates = Coordinates::half_pixel;
  else if (rules.coordinates == "asymmetric") options.coordinates = Coordinates::asymmetric;
  else if (rules.coordinates == "align_corners") options.coordinates = Coordinates::corners;
  else if (rules.coordinates != "pytorch_half_pixel") return std::nullopt;
  for (const ResizedAxis& axis : axes) {
    const bool exact = axis.scale * static_cast<double>(axis.from) == static_cast<double>(axis.to);
    if (rules.coordinates == "align_corners" && !exact) return std::nullopt;
    if (rules.coordinates == "pytorch_half_pixel" && axis.to == 1) return std::nullopt;
    if (axis.axis >= 2) options.scales.push_back(axis.scale);
    else if (axis.from != axis.to) return std::nullopt;
  }
  if (rules.nearest == "round_prefer_floor") options.nearest = Nearest::round_down;
  else if (rules.nearest == "round_prefer_ceil") options.nearest = Nearest::round_up;
  else options.nearest = rules.nearest == "floor" ? Nearest::floor : Nearest::ceil;
  return options;
}

/// Whether every element becomes a block of equal ones.
bool repeats_elements(const std::vector<ResizedAxis>& axes, const ResizingRules& rules) {
  const bool by_centre = rules.coordinates == "half_pixel" || rules.coordinates == "pytorch_half_pixel";
  const bool by_corner = rules.coordinates == "asymmetric" && rules.nearest == "floor";
  const bool rounds = rules.nearest == "round_prefer_floor" || rules.nearest == "round_prefer_ceil";
  if (rules.method != "nearest" || !(by_corner || (by_centre && rounds))) return false;
  return std::all_of(axes.begin(), axes.end(), [](const ResizedAxis& axis) {
    return axis.scale == std::floor(axis.scale) && axis.to == static_cast<std::int64_t>(axis.scale) * axis.from;
  });
}

}  // namespace

ResizingRules resizing_rules(const OperatorCall& call) {
  ResizingRules rules;
  rules.method = call.text("mode", "nearest");
  if (rules.method == "bilinear") rules.method = "linear";
  // Before version 11 there was one rule for all.
  const bool first = call.version() < 11;
  rules.coordinates = first ? "asymmetric" : call.text("coordinate_transformation_mode", "half_pixel");
  rules.nearest = first ? "floor" : call.text("nearest_mode", "round_prefer_floor");
  rules.cubic = call.number("cubic_coeff_a", -0.75);
  rules.outside = call.number("extrapolation_value", 0);
  rules.exclude_outside = call.integer("exclude_outside", 0) != 0;
  rules.antialias = call.integer("antialias", 0) != 0;
  if (call.version() >= 18) call.ignore("keep_aspect_ratio_policy");  // where scales are given it says nothing
  if (!interpolation_of(rules.method)) call.refuse("mode '", rules.method, "'; known are nearest, linear and cubic");
  for (const char* known : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                            "tf_crop_and_resize", "tf_half_pixel_for_nn"}) {
    if (rules.coordinates == known) return rules;
  }
  call.refuse("coordinate_transformation_mode '", rules.coordinates, "' is not known");
}

void keep_aspect_ratio(const OperatorCall& call, std::vector<ResizedAxis>& axes) {
  const std::string_view policy = call.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || axes.empty()) return;
  if (policy != "not_larger" && policy != "not_smaller") call.refuse("keep_aspect_ratio_policy '", policy, "'");
  double scale = axes[0].scale;
  for (const ResizedAxis& axis : axes) {
    scale = policy == "not_larger" ? std::min(scale, axis.scale) : std::max(scale, axis.scale);
  }
  for (ResizedAxis& axis : axes) {
    axis.scale = scale;
    axis.to = static_cast<std::int64_t>(std::floor(scale * static_cast<double>(axis.from) + 0.5));
  }
}

Array resized_by(const OperatorCall& call, const Array& x, const std::vector<ResizedAxis>& axes,
                 const ResizingRules& rules) {
  for (const ResizedAxis& axis : axes) {
    if (axis.from < 1 || axis.to < 1 || !(axis.scale > 0) || (rules.coordinates == "tf_crop_and_resize" && !axis.box)) {
      call.refuse("axis ", axis.axis, " of shape ", x.shape(), " to length ", axis.to);
    }
  }
  std::vector<ResizedAxis> all_axes;
  for (std::int64_t i = 0; i < x.ndim(); ++i) {
    const std::int64_t length = axis_length(x, static_cast<std::size_t>(i));
    const auto named = std::find_if(axes.begin(), axes.end(), [&](const ResizedAxis& each) { return each.axis == i; });
    all_axes.push_back(named == axes.end() ? ResizedAxis{i, length, length} : *named);
  }
  const bool image = x.ndim() >= 3 && x.ndim() <= 5;
  const std::optional<ResizeOptions> options = options_for(all_axes, rules);
  if (image && options) {
    PerAxis size, factors;
    for (std::size_t i = 2; i < all_axes.size(); ++i) {
      size.push_back(all_axes[i].to);
      factors.push_back(static_cast<std::int64_t>(all_axes[i].scale));
    }
    if (repeats_elements(all_axes, rules)) return upsample(x, factors, Resampling::nearest, nchw);
    // Channels last, as convolutions before and behind it are: the transposes meet theirs.
    return moveaxis(resize(moveaxis(x, 1, -1), size, *options), -1, 1);
  }
  Array y = x;
  for (const ResizedAxis& axis : all_axes) {
    if (axis.from != axis.to || axis.scale != 1 || axis.box) y = along_axis_by_weights(y, axis, rules);
  }
  return y;
}

}  // namespace tyto::onnx
