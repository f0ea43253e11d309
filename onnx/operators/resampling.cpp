// SPDX-License-Identifier: MIT
// Images read at other places: resized, sampled along grids and in boxes; and the choice of boxes.
#include "tyto/resampling.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "onnx/operators/resizing.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

// Indices of the inputs that an operator's version has besides the first. Scales that are no input are an attribute.
struct ResizeInputs {
  std::optional<std::size_t> roi = {}, scales = {}, sizes = {};
};

Outputs resize_of(const OperatorCall& call, const ResizeInputs& places) {
  const Array& x = call[0];
  ResizingRules rules = resizing_rules(call);
  std::vector<std::int64_t> axes = call.integers("axes");
  if (axes.empty()) {
    for (std::int64_t i = 0; i < x.ndim(); ++i) axes.push_back(i);
  }
  const auto is_given = [&](std::optional<std::size_t> place) {
    return place && call.has(*place) && call[*place].size() > 0;
  };
  const auto all_of = [&](auto values) {
    if (values.size() != axes.size()) call.refuse(values.size(), " numbers for ", axes.size(), " axes");
    return values;
  };
  std::vector<double> box, factors;
  std::vector<std::int64_t> lengths;
  if (is_given(places.roi) && rules.coordinates == "tf_crop_and_resize") box = call.numbers_in(*places.roi);
  if (is_given(places.sizes)) {
    lengths = all_of(call.integers_in(*places.sizes));
  } else {
    factors = all_of(places.scales ? call.numbers_in(*places.scales) : call.numbers("scales"));
  }
  std::vector<ResizedAxis> resized;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + x.ndim() : axes[i];
    if (axis < 0 || axis >= x.ndim()) call.refuse("axis ", axes[i], " of shape ", x.shape());
    call.require_bounded("sizes", lengths);
    if (lengths.empty() && !(factors[i] > 0 && factors[i] <= 0x1p31)) call.refuse("a scale of ", factors[i]);
    ResizedAxis each;
    each.axis = axis;
    each.from = axis_length(x, static_cast<std::size_t>(axis));
    each.scale = lengths.empty() ? factors[i] : static_cast<double>(lengths[i]) / static_cast<double>(each.from);
    // Rounded to f32 as ONNX's shape inference multiplies: 5 times an f32 of 2.6 is 13, and below it in f64.
    each.to = lengths.empty()
                  ? static_cast<std::int64_t>(static_cast<float>(factors[i] * static_cast<double>(each.from)))
                  : lengths[i];
    if (!box.empty() && box.size() != 2 * axes.size()) call.refuse("a box of ", box.size(), " numbers");
    for (const double edge : box) {
      if (!(std::abs(edge) <= 0x1p31)) call.refuse("a box with an edge at ", edge);
    }
    if (!box.empty()) each.box = {box[i], box[i + axes.size()]};
    resized.push_back(each);
  }
  if (!lengths.empty()) keep_aspect_ratio(call, resized);
  return {resized_by(call, x, resized, rules)};
}
Outputs resize_of_version_7(const OperatorCall& call) { return resize_of(call, {}); }
Outputs resize_of_version_10(const OperatorCall& call) { return resize_of(call, {.scales = 1}); }
Outputs resize_of_version_11(const OperatorCall& call) { return resize_of(call, {.roi = 1, .scales = 2, .sizes = 3}); }

Outputs sampled_along_grid(const OperatorCall& call) {
  const std::string_view mode = call.text("mode", "linear"), outside = call.text("padding_mode", "zeros");
  GridSampleOptions options{.corners = call.integer("align_corners", 0) != 0, .layout = nchw};
  if (mode == "linear" || mode == "bilinear") options.method = Interpolation::linear;
  else if (mode == "nearest") options.method = Interpolation::nearest;
  else if (mode == "cubic" || mode == "bicubic") options.method = Interpolation::cubic;
  else call.refuse("mode '", mode, "'; known are nearest, linear and cubic");
  if (outside == "zeros") options.outside = Outside::zeros;
  else if (outside == "border") options.outside = Outside::edge;
  else if (outside == "reflection") options.outside = Outside::reflection;
  else call.refuse("padding_mode '", outside, "'; known are zeros, border and reflection");
  return {grid_sample(call[0], call[1], options)};
}

// Coordinates from -1 to 1 of each element of a picture, through one affine map a picture.
Outputs affine_grid(const OperatorCall& call) {
  const Array& maps = call[0];
  const std::vector<std::int64_t> size = call.integers_in(1);
  const bool corners = call.integer("align_corners", 0) != 0;
  if (size.size() < 4 || size.size() > 5) call.refuse("a size of ", size.size(), " axes; expected 4 or 5");
  const std::size_t axes = size.size() - 2;
  for (const std::int64_t length : size) {
    if (length < 1) call.refuse("a size with the length ", length);
  }
  Shape grid(std::span(size.data() + 2, axes));
  std::vector<Array> coordinates;
  for (std::size_t i = axes; i-- > 0;) {
    const double n = static_cast<double>(grid[i]), end = corners ? 1 : 1 - 1 / n;
    Shape along(axes, 1);
    along[i] = grid[i];
    const Array line =
        grid[i] == 1 ? Array::full({1}, corners ? -1.0 : 0.0) : Array::linspace(-end, end, grid[i], DType::f64);
    coordinates.push_back(broadcast_to(reshape(cast(line, maps.dtype()), along), grid));
  }
  coordinates.push_back(broadcast_to(Array::full({}, 1.0, maps.dtype()), grid));
  const Array places = reshape(stack(coordinates, -1), {-1, static_cast<std::int64_t>(axes + 1)});
  Shape shape{size[0]};
  for (const std::int64_t length : grid) shape.push_back(length);
  shape.push_back(static_cast<std::int64_t>(axes));
  return {reshape(matmul(places, matrix_transpose(maps)), shape)};
}

/// Where samples of a box are read along one axis, and what the two elements beside each count.
struct BoxSamples {
  std::vector<std::int64_t> low, high;
  std::vector<double> low_weight, high_weight;
};

BoxSamples samples_along(double begin, double end, std::int64_t results, std::int64_t samples, std::int64_t length) {
  require_numbers(results, 4 * samples);
  BoxSamples all_samples;
  const double last = static_cast<double>(length - 1), step = (end - begin) / static_cast<double>(results * samples);
  for (std::int64_t i = 0; i < results * samples; ++i) {
    const double place = begin + (static_cast<double>(i) + 0.5) * step;
    const bool outside = place < -1 || place > last + 1;
    const double inside = std::clamp(place, 0.0, last), base = std::floor(inside);
    all_samples.low.push_back(static_cast<std::int64_t>(base));
    all_samples.high.push_back(static_cast<std::int64_t>(std::min(base + 1, last)));
    all_samples.low_weight.push_back(outside ? 0 : 1 - (inside - base));
    all_samples.high_weight.push_back(outside ? 0 : inside - base);
  }
  return all_samples;
}

// With boxes that are known: the largest weighted element among those beside all samples of a result, as the standard
// has it, not the largest sample.
Array largest_in_box(const Array& image, const BoxSamples& rows, const BoxSamples& columns, const IntList& size) {
  const auto vector = [](const auto& list) { return Array::from(list, {static_cast<std::int64_t>(list.size())}); };
  Array largest;
  for (const bool low_row : {true, false}) {
    for (const bool low_column : {true, false}) {
      const Array read = take(take(image, vector(low_row ? rows.low : rows.high), 1),
                              vector(low_column ? columns.low : columns.high), 2);
      const Array row_weight = reshape(vector(low_row ? rows.low_weight : rows.high_weight), {-1, 1});
      const Array weight = row_weight * vector(low_column ? columns.low_weight : columns.high_weight);
      const Array each = read * cast(weight, image.dtype());
      largest = largest.defined() ? maximum(largest, each) : each;
    }
  }
  return max(reshape(largest, {axis_length(image, 0), size[0], -1, size[1], axis_length(largest, 2) / size[1]}),
             {2, 4});
}

/// A box along one axis.
struct BoxEdges {
  double begin, end;
};

// The weight of each element along an axis in the mean of all samples of each result: (results, length). Samples
// outside of the picture count nothing and are not visited, since a box may be of any length.
Array mean_weights(const BoxEdges& box, std::int64_t results, std::int64_t samples, std::int64_t length, DType dtype) {
  require_numbers(results, length);
  std::vector<double> matrix(static_cast<std::size_t>(results * length), 0);
  const auto total = static_cast<double>(results * samples), last = static_cast<double>(length - 1);
  const double step = (box.end - box.begin) / total;
  double first = 0, behind = total;
  if (step > 0) {
    first = std::clamp(std::floor((-1 - box.begin) / step) - 1, 0.0, total);
    behind = std::clamp(std::ceil((last + 1 - box.begin) / step) + 1, 0.0, total);
  }
  for (auto i = static_cast<std::int64_t>(first); i < static_cast<std::int64_t>(behind); ++i) {
    const double place = box.begin + (static_cast<double>(i) + 0.5) * step;
    if (place < -1 || place > last + 1) continue;
    const double inside = std::clamp(place, 0.0, last), base = std::floor(inside);
    double* const row = matrix.data() + i / samples * length;
    row[static_cast<std::int64_t>(base)] += (1 - (inside - base)) / static_cast<double>(samples);
    row[static_cast<std::int64_t>(std::min(base + 1, last))] += (inside - base) / static_cast<double>(samples);
  }
  return cast(Array::from(matrix, {results, length}), dtype);
}

// The number of samples may follow from each box's size; then boxes are cut out one after the other.
Outputs cut_out_of_boxes(const OperatorCall& call) {
  const Array &x = call[0], &boxes = call[1], &images = call[2];
  const std::string_view mode = call.text("mode", "avg");
  const std::string_view rule =
      call.text("coordinate_transformation_mode", call.version() < 16 ? "output_half_pixel" : "half_pixel");
  RoiAlignOptions options{.size = {call.integer("output_height", 1), call.integer("output_width", 1)},
                          .scale = call.number("spatial_scale", 1),
                          .samples = call.integer("sampling_ratio", 0),
                          .aligned = rule == "half_pixel",
                          .layout = nchw};
  if (mode != "avg" && mode != "max") call.refuse("mode '", mode, "'; known are avg and max");
  call.require_bounded("sampling_ratio", options.samples);
  for (const std::int64_t length : options.size) {
    call.require_bounded("output size", length);
    if (length < 1) call.refuse("an output of length ", length);
  }
  if (options.samples > 0 && mode == "avg") return {roi_align(x, boxes, images, options)};
  const std::vector<double> corners = call.numbers_in(1);
  const std::vector<std::int64_t> numbers = call.integers_in(2);
  if (x.ndim() != 4 || boxes.ndim() != 2 || axis_length(boxes, 1) != 4 ||
      std::ssize(numbers) != axis_length(boxes, 0)) {
    call.refuse("input ", x.shape(), ", boxes ", boxes.shape(), " and their pictures ", images.shape());
  }
  if (axis_length(x, 2) == 0 || axis_length(x, 3) == 0) call.refuse("input ", x.shape(), " without elements");
  std::vector<Array> parts;
  for (std::int64_t i = 0; i < axis_length(boxes, 0); ++i) {
    const double* box = corners.data() + 4 * i;
    const double offset = options.aligned ? 0.5 : 0;
    const auto edges = [&](double from, double to) {
      const double begin = from * options.scale - offset, end = to * options.scale - offset;
      if (!std::isfinite(begin) || !std::isfinite(end)) call.refuse("a box from ", begin, " to ", end);
      return BoxEdges{begin, options.aligned ? end : std::max(end, begin + 1)};
    };
    const BoxEdges tall = edges(box[1], box[3]), wide = edges(box[0], box[2]);
    const auto needed = [&](const BoxEdges& along, std::int64_t results) {
      const double length = along.end - along.begin;
      if (options.samples > 0) return options.samples;
      if (!(std::abs(length) < 0x1p31)) call.refuse("a box of length ", length);
      return static_cast<std::int64_t>(std::ceil(length / static_cast<double>(results)));
    };
    const std::int64_t samples_high = needed(tall, options.size[0]), samples_wide = needed(wide, options.size[1]);
    const Array image = at_position(x, 0, numbers[static_cast<std::size_t>(i)]);
    const std::int64_t height = axis_length(image, 1), width = axis_length(image, 2);
    if (samples_high < 1 || samples_wide < 1) {  // a box that ends where it begins, or before
      parts.push_back(Array::zeros({axis_length(x, 1), options.size[0], options.size[1]}, x.dtype()));
    } else if (mode == "max") {
      parts.push_back(largest_in_box(image, samples_along(tall.begin, tall.end, options.size[0], samples_high, height),
                                     samples_along(wide.begin, wide.end, options.size[1], samples_wide, width),
                                     options.size));
    } else {
      const Array rows = mean_weights(tall, options.size[0], samples_high, height, x.dtype()),
                  columns = mean_weights(wide, options.size[1], samples_wide, width, x.dtype());
      parts.push_back(matmul(matmul(rows, image), transpose(columns)));
    }
  }
  if (parts.empty()) return {Array::zeros({0, axis_length(x, 1), options.size[0], options.size[1]}, x.dtype())};
  return {stack(parts, 0)};
}

/// Ranges of elements along an axis, which may overlap, and may be empty.
struct AxisParts {
  std::vector<std::int64_t> begin, end;
};

// The largest element of each part along an axis of at least one element. Of an empty part it is any element.
Array largest_of_parts(const Array& x, std::int64_t axis, const AxisParts& parts) {
  const std::int64_t last = axis_length(x, static_cast<std::size_t>(axis)) - 1;
  std::int64_t longest = 1;
  for (std::size_t i = 0; i < parts.begin.size(); ++i) longest = std::max(longest, parts.end[i] - parts.begin[i]);
  Array largest;
  std::vector<std::int64_t> places(parts.begin.size());
  for (std::int64_t step = 0; step < longest; ++step) {
    // Finished boxes stay at their last element, which changes nothing.
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = std::clamp<std::int64_t>(std::min(parts.begin[i] + step, parts.end[i] - 1), 0, last);
    }
    const Array next = take(x, Array::from(places, {std::ssize(places)}), axis);
    largest = largest.defined() ? maximum(largest, next) : next;
  }
  return largest;
}

// Whether each part holds elements, in a shape that broadcasts to (rows, columns).
Array held(const AxisParts& parts, const Shape& shape) {
  return reshape(
      less(Array::from(parts.begin, {std::ssize(parts.begin)}), Array::from(parts.end, {std::ssize(parts.end)})),
      shape);
}

// Boxes of whole elements, each in as many parts as there are results; a part without elements yields zero.
Outputs largest_in_boxes(const OperatorCall& call) {
  const Array &x = call[0], &boxes = call[1];
  const std::vector<std::int64_t>& size = call.integers("pooled_shape");
  const double scale = call.number("spatial_scale", 1);
  if (x.ndim() != 4 || boxes.ndim() != 2 || axis_length(boxes, 1) != 5 || size.size() != 2) {
    call.refuse("input ", x.shape(), ", boxes ", boxes.shape(), " and a size of ", size.size(), " axes");
  }
  call.require_bounded("pooled_shape", size);
  if (size[0] < 1 || size[1] < 1) call.refuse("a size of ", size[0], " by ", size[1], "; lengths must be positive");
  const Shape whole{axis_length(boxes, 0), axis_length(x, 1), size[0], size[1]};
  const std::vector<double> corners = call.numbers_in(1);
  if (element_count(whole) == 0 || x.size() == 0) return {Array::zeros(whole, x.dtype())};
  std::vector<Array> results;
  for (std::int64_t i = 0; i < axis_length(boxes, 0); ++i) {
    const double* box = corners.data() + 5 * i;
    if (!(std::abs(box[0]) < 0x1p31)) call.refuse("a box of picture ", box[0]);
    const Array image = at_position(x, 0, static_cast<std::int64_t>(box[0]));
    const auto parts = [&](std::size_t axis) {
      const double low = std::round(box[2 - axis] * scale), high = std::round(box[4 - axis] * scale);
      if (!(std::abs(low) < 0x1p31 && std::abs(high) < 0x1p31)) call.refuse("a box from ", low, " to ", high);
      const double step = std::max(high - low + 1, 1.0) / static_cast<double>(size[axis]);
      const auto last = static_cast<double>(axis_length(x, axis + 2));
      const auto edge = [&](double place) { return static_cast<std::int64_t>(std::clamp(low + place, 0.0, last)); };
      AxisParts all_parts;
      require_numbers(2 * size[axis]);
      all_parts.begin.reserve(static_cast<std::size_t>(size[axis]));  // or fail at once
      all_parts.end.reserve(static_cast<std::size_t>(size[axis]));
      for (std::int64_t k = 0; k < size[axis]; ++k) {
        all_parts.begin.push_back(edge(std::floor(static_cast<double>(k) * step)));
        all_parts.end.push_back(edge(std::ceil(static_cast<double>(k + 1) * step)));
      }
      return all_parts;
    };
    const AxisParts rows = parts(0), columns = parts(1);
    const Array largest = largest_of_parts(largest_of_parts(image, 1, rows), 2, columns);
    results.push_back(where(logical_and(held(rows, {-1, 1}), held(columns, {1, -1})), largest, 0.0));
  }
  return {stack(results, 0)};
}

// (picture, class, box) of what is kept, for each picture and class by falling score.
Outputs chosen_boxes(const OperatorCall& call) {
  call.require_known(0);
  call.require_known(1);
  Array boxes = call[0];
  const Array& scores = call[1];
  const std::int64_t count = call.has(2) ? call.integer_in(2) : 0;
  NmsOptions options{.overlap = call.has(3) ? call.number_in(3) : 0};
  if (call.has(4)) options.score = call.number_in(4);
  if (call.integer("center_point_box", 0) != 0) {
    const Array centre = part_of(boxes, -1, 0, 2), half = part_of(boxes, -1, 2, 4) / 2.0;
    boxes = joined_pair(centre - half, centre + half, -1);
  } else {
    const Array a = part_of(boxes, -1, 0, 2), b = part_of(boxes, -1, 2, 4);
    boxes = joined_pair(minimum(a, b), maximum(a, b), -1);
  }
  std::vector<std::int64_t> chosen;
  for (std::int64_t picture = 0; count > 0 && picture < axis_length(scores, 0); ++picture) {
    for (std::int64_t kind = 0; kind < axis_length(scores, 1); ++kind) {
      options.count = std::min(count, axis_length(scores, 2));
      const Array kept = nms(at_position(boxes, 0, picture), scores.get({picture, kind}), options).indices;
      for (const std::int64_t box : cast(kept, DType::i64).to_vector<std::int64_t>()) {
        if (box >= 0) chosen.insert(chosen.end(), {picture, kind, box});
      }
    }
  }
  return {Array::from(chosen, {static_cast<std::int64_t>(chosen.size() / 3), 3})};
}

constexpr OperatorRow resampling_table[] = {
    {"AffineGrid", 20, affine_grid},         {"GridSample", 16, sampled_along_grid},
    {"NonMaxSuppression", 10, chosen_boxes}, {"Resize", 10, resize_of_version_10},
    {"Resize", 11, resize_of_version_11},    {"RoiAlign", 10, cut_out_of_boxes},
    {"Upsample", 7, resize_of_version_7},    {"Upsample", 9, resize_of_version_10},
    {"MaxRoiPool", 1, largest_in_boxes},
};

}  // namespace

std::span<const OperatorRow> resampling_rows() { return resampling_table; }

}  // namespace tyto::onnx
