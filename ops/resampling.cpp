// SPDX-License-Identifier: MIT
// Resizing, sampling along grids and in boxes, made of elements taken at neighbouring places; and the choice of boxes.
#include "tyto/resampling.hpp"
#include "ops/samples.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/graph/op_ids.hpp"
#include "ops/planned.hpp"
#include "ops/window.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

/// The elements that are read for each of a number of places along an axis, and their weights.
struct Taps {
  std::vector<std::int64_t> elements;
  std::vector<double> weights;
};

/// The cubic convolution kernel with the free coefficient a, at a distance below 2.
double cubic_kernel(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
/// The same for tensors, whose distance lies in [0, 1] or in [1, 2].
T inner_cubic(const T& x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
T outer_cubic(const T& x, double a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

double place_of(std::int64_t i, std::int64_t length, std::int64_t size, double scale, Coordinates coordinates) {
  const auto at = static_cast<double>(i);
  switch (coordinates) {
    case Coordinates::corners:
      return size > 1 ? at * static_cast<double>(length - 1) / static_cast<double>(size - 1) : 0;
    case Coordinates::asymmetric: return at / scale;
    case Coordinates::half_pixel: break;
  }
  return (at + 0.5) / scale - 0.5;
}

double nearest_to(double place, Nearest how) {
  switch (how) {
    case Nearest::round_down: return std::ceil(place - 0.5);
    case Nearest::round_up: return std::floor(place + 0.5);
    case Nearest::floor: return std::floor(place);
    case Nearest::ceil: return std::ceil(place);
  }
  throw ValueError("resize: unknown way of rounding");
}

/// For each tap, the elements that it reads for every element of a resized axis.
std::vector<Taps> taps_of(std::int64_t length, std::int64_t size, double scale, const ResizeOptions& options) {
  const int first = options.method == Interpolation::cubic ? -1 : 0;
  const int count = options.method == Interpolation::cubic ? 4 : options.method == Interpolation::linear ? 2 : 1;
  std::vector<Taps> taps(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < size; ++i) {
    const double place = place_of(i, length, size, scale, options.coordinates);
    const double base = count == 1 ? nearest_to(place, options.nearest) : std::floor(place);
    for (int k = 0; k < count; ++k) {
      const double element = base + first + k;
      const double weight = count == 1   ? 1
                            : count == 2 ? 1 - std::abs(place - element)
                                         : cubic_kernel(place - element, options.cubic);
      Taps& tap = taps[static_cast<std::size_t>(k)];
      tap.elements.push_back(static_cast<std::int64_t>(std::clamp(element, 0.0, static_cast<double>(length - 1))));
      tap.weights.push_back(weight);
    }
  }
  return taps;
}

/// Numbers known now, of no mode: they go along with whatever they meet.
template <class E>
T numbers(const std::vector<E>& list) {
  return T::from(list, {static_cast<std::int64_t>(list.size())});
}

/// The elements taken along an axis; a view where they lie at one distance, as in a picture made half as large.
T taken(const T& x, const std::vector<std::int64_t>& elements, std::int64_t axis) {
  const std::int64_t step = elements.size() > 1 ? elements[1] - elements[0] : 1;
  const auto breaks = [step](std::int64_t a, std::int64_t b) { return b - a != step; };
  if (step < 1 || std::ranges::adjacent_find(elements, breaks) != elements.end())
    return take(x, numbers(elements), axis);
  std::vector<Index> part(x.shape().size(), all);
  part[static_cast<std::size_t>(axis)] = tyto::slice(elements.front(), elements.back() + 1, step);
  return x.get(part);
}

T resized_axis(const T& x, std::int64_t axis, std::int64_t size, double scale, Interpolation method,
               Coordinates coordinates, Nearest nearest, double cubic) {
  const bool is_sum = method != Interpolation::nearest;
  if (const Value planned =
          is_sum ? core::planned(&resized_axis, x, axis, size, scale, method, coordinates, nearest, cubic) : Value()) {
    return planned;
  }
  const ResizeOptions options{.method = method, .coordinates = coordinates, .nearest = nearest, .cubic = cubic};
  const std::vector<Taps> taps = taps_of(x.shape()[static_cast<std::size_t>(axis)], size, scale, options);
  Shape along(x.shape().size(), 1);
  along[static_cast<std::size_t>(axis)] = size;
  T sum;
  for (const Taps& tap : taps) {
    const T read = taken(x, tap.elements, axis);
    if (taps.size() == 1) return read;
    const T part = read * reshape(T(cast_to(numbers(tap.weights), x.dtype())), along);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

T resampled(const Value& input, const PerAxis& wanted, const ResizeOptions& options) {
  constexpr std::string_view op = "resize";
  check_image(op, input.shape());
  const std::size_t axes = input.shape().size() - 2, first = options.layout == Layout::nhwc ? 1 : 2;
  const IntList size = per_axis(op, "size", wanted, axes, 1);
  if (!options.scales.empty() && options.scales.size() != axes) {
    throw_error<ShapeError>(op, ": ", options.scales.size(), " scales for ", axes, " spatial axes");
  }
  const bool nearest = options.method == Interpolation::nearest;
  if (!nearest) {
    const auto found = in_f32([&](const T& wide) { return resampled(wide, wanted, options); }, T(input));
    if (found) return *found;
  }
  T x = nearest ? input : as_floating(input);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t length = input.shape()[first + i];
    if (length == 0) throw_error<ShapeError>(op, ": no elements along axis ", first + i, " of shape ", input.shape());
    const double natural = static_cast<double>(size[i]) / static_cast<double>(length);
    const double scale = options.scales.empty() ? natural : options.scales[i];
    if (!(scale > 0)) throw_error<ValueError>(op, ": the scale ", scale, " is not above 0");
    if (length == size[i] && scale == 1) continue;
    x = resized_axis(x, static_cast<std::int64_t>(first + i), size[i], scale, options.method, options.coordinates,
                     options.nearest, options.cubic);
  }
  return x;
}

// grid_sample

/// Coordinates outside of [0, length) brought inside, or left where zeros are read.
T brought_inside(const T& place, std::int64_t length, const GridSampleOptions& options) {
  const auto last = static_cast<double>(length - 1);
  if (options.outside == Outside::zeros) return place;
  if (options.outside == Outside::edge) return clip(place, 0.0, last);
  const double low = options.corners ? 0 : -0.5, span = options.corners ? last : static_cast<double>(length);
  if (span == 0) return place * 0.0;
  const T phase = remainder(abs(place - low), 2 * span);
  return clip(low + span - abs(phase - span), 0.0, last);
}

/// One of the elements read along an axis: where, and how much it counts.
struct Tap {
  T element;
  T weight;
};

std::vector<Tap> taps_along(const T& given, std::int64_t length, const GridSampleOptions& options) {
  const auto last = static_cast<double>(length - 1);
  const bool cubic = options.method == Interpolation::cubic;
  const T place = cubic ? given : brought_inside(given, length, options);
  const bool nearest = options.method == Interpolation::nearest;
  const T base = nearest ? round(place) : floor(place);
  const T beyond = place - base;
  std::vector<Tap> taps;
  const auto add = [&](double step, const T& weight) {
    T element = base + step;
    if (cubic) element = round(brought_inside(element, length, options));
    const T counted =
        options.outside == Outside::zeros ? where(element >= 0.0 && element <= last, weight, 0.0) : weight;
    taps.push_back({cast(clip(element, 0.0, last), DType::i64), counted});
  };
  if (nearest) {
    add(0, ones_like(base));
  } else if (!cubic) {
    add(0, 1.0 - beyond);
    add(1, beyond);
  } else {
    constexpr double a = -0.75;
    add(-1, outer_cubic(1.0 + beyond, a));
    add(0, inner_cubic(beyond, a));
    add(1, inner_cubic(1.0 - beyond, a));
    add(2, outer_cubic(2.0 - beyond, a));
  }
  return taps;
}

/// 0, 1, ... along the first of `rank` axes.
T counted(const Value& beside, std::int64_t count, std::size_t rank) {
  Shape along(rank, 1);
  along[0] = count;
  return reshape(T(emit(mode_like(beside), OpId::arange, RangeAttributes{{count}, DType::i64, Scalar(0), Scalar(1)})),
                 along);
}

/// The sum over taps, one along each axis, of the elements of x times their weights.
T weighted_sum(const T& x, const T& images, const std::vector<std::vector<Tap>>& axes) {
  T sum;
  std::vector<std::size_t> chosen(axes.size(), 0);
  for (;;) {
    std::vector<T> coordinates{images};
    T weight;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const Tap& tap = axes[a][chosen[a]];
      coordinates.push_back(tap.element);
      weight = weight.defined() ? weight * tap.weight : tap.weight;
    }
    const T part = gather(x, coordinates) * expand_dims(weight, -1);
    sum = sum.defined() ? sum + part : part;
    std::size_t a = axes.size();
    while (a-- > 0 && ++chosen[a] == axes[a].size()) chosen[a] = 0;
    if (a >= axes.size()) return sum;  // wrapped round: every choice was made
  }
}

T sampled(const Value& input, const Value& places, const GridSampleOptions& options) {
  constexpr std::string_view op = "grid_sample";
  check_image(op, input.shape());
  const auto found_in_f32 = in_f32([&](const T& wide) { return sampled(wide, places, options); }, T(input));
  if (found_in_f32) return *found_in_f32;
  T x = as_floating(input);
  if (options.layout == Layout::nchw) x = transpose(x, channels_last(x.ndim()));
  const std::size_t axes = x.shape().size() - 2;
  const Shape& shape = places.shape();
  if (shape.size() < 2 || shape[0] != x.shape()[0] || shape.back() != static_cast<std::int64_t>(axes)) {
    throw_error<ShapeError>(op, ": a grid (", x.shape()[0], ", places..., ", axes, ") is needed for images of shape ",
                            input.shape(), ", not ", shape);
  }
  for (const std::int64_t length : spatial(x.shape())) {
    if (length == 0) throw_error<ShapeError>(op, ": images of shape ", input.shape(), " have no elements");
  }
  T grid = cast_to(as_floating(places), x.dtype());
  grid = where(isnan(grid), -1.0, grid);  // as PyTorch takes them
  std::vector<std::vector<Tap>> taps;
  for (std::size_t a = 0; a < axes; ++a) {
    const std::int64_t length = x.shape()[a + 1];
    const T at = squeeze(T(part_along(grid, shape.size() - 1, static_cast<std::int64_t>(axes - 1 - a), 1)), -1);
    const auto size = static_cast<double>(length);
    const T place = options.corners ? (at + 1.0) * (0.5 * (size - 1)) : (at + 1.0) * (0.5 * size) - 0.5;
    taps.push_back(taps_along(place, length, options));
  }
  const T found = weighted_sum(x, counted(x, shape[0], shape.size() - 1), taps);
  if (options.layout == Layout::nhwc) return found;
  return transpose(found, channels_first(found.ndim()));
}

// roi_align

/// A number that is the same for all boxes, or one for each, (boxes, 1).
template <class E>
T for_boxes(const std::vector<E>& of_levels, const T& levels, DType type) {
  if (!levels.defined()) return of_levels.front();
  return expand_dims(take(T(cast_to(numbers(of_levels), type)), levels, 0), 1);
}

/// Two neighbours along one axis of places (boxes, samples); beyond the image's edge by more than an element nothing.
std::vector<Tap> neighbours(const T& place, const T& length) {
  const T last = length - 1.0;
  const T inside = cast(place >= -1.0 && place <= length, place.dtype());
  const T at = minimum(maximum(place, 0.0), last);
  const T low = floor(at);
  const T beyond = at - low;
  return {{cast(low, DType::i64), (1.0 - beyond) * inside},
          {cast(minimum(low + 1.0, last), DType::i64), beyond * inside}};
}

void check_regions(std::string_view op, const std::vector<T>& pyramid, const T& boxes, const T& images, const T& levels,
                   const RoiAlignOptions& options) {
  if (pyramid.empty()) throw_error<ShapeError>(op, ": a pyramid of no levels");
  for (const T& x : pyramid) {
    if (x.ndim() != 4) {
      throw_error<ShapeError>(op, ": images (batch, height, width, channels) are needed, not ", x.shape());
    }
    if (x.shape()[0] != pyramid[0].shape()[0] || x.shape()[3] != pyramid[0].shape()[3]) {
      throw_error<ShapeError>(op, ": levels of one batch and as many channels are needed, not ", pyramid[0].shape(),
                              " and ", x.shape());
    }
    if (x.shape()[1] == 0 || x.shape()[2] == 0) {
      throw_error<ShapeError>(op, ": images of shape ", x.shape(), " have no elements");
    }
  }
  if (boxes.ndim() != 2 || boxes.shape()[1] != 4) {
    throw_error<ShapeError>(op, ": boxes (count, 4) are needed, not ", boxes.shape());
  }
  const std::int64_t count = boxes.shape()[0];
  if (images.shape() != Shape{count}) {
    throw_error<ShapeError>(op, ": ", count, " numbers of images are needed, not shape ", images.shape());
  }
  if (levels.defined() && levels.shape() != Shape{count}) {
    throw_error<ShapeError>(op, ": ", count, " numbers of levels are needed, not shape ", levels.shape());
  }
  if (options.scales.size() != (levels.defined() ? pyramid.size() : 0)) {
    throw_error<ShapeError>(op, ": ", options.scales.size(), " scales for ", pyramid.size(), " levels",
                            levels.defined() ? "" : "; a single image has one, named scale");
  }
  if (levels.defined() && options.scale != 1) {
    throw_error<ValueError>(op, ": scale = ", options.scale, " is that of a single image; a pyramid has scales alone");
  }
  if (options.size.size() != 2) throw_error<ShapeError>(op, ": a size (height, width) is needed, not ", options.size);
  if (options.samples < 1 || options.size[0] < 1 || options.size[1] < 1) {
    throw_error<ValueError>(op, ": size ", options.size, " and samples ", options.samples,
                            " must be at least 1; a count of samples that depends on the boxes has no fixed shape");
  }
}

/// Regions of the levels of a pyramid; `given_levels` is undefined where there is but one image size.
T cut_out(const std::vector<T>& given, const T& given_boxes, const T& given_images, const T& given_levels,
          const RoiAlignOptions& options) {
  constexpr std::string_view op = "roi_align";
  const auto cut = [&](const std::vector<T>& wide) {
    return cut_out(wide, given_boxes, given_images, given_levels, options);
  };
  if (const auto found = in_f32(cut, given)) return *found;
  std::vector<T> pyramid;
  for (const T& x : given) {
    const T floating = as_floating(x);
    const bool moved = options.layout == Layout::nchw && floating.ndim() == 4;
    pyramid.push_back(moved ? transpose(floating, channels_last(4)) : floating);
  }
  check_regions(op, pyramid, given_boxes, given_images, given_levels, options);
  const T& x = pyramid[0];
  const DType type = x.dtype();
  const std::int64_t count = given_boxes.shape()[0], channels = x.shape()[3];
  T levels = given_levels;
  if (levels.defined()) {
    const auto most = static_cast<std::int64_t>(pyramid.size()) - 1;
    levels = cast(check_bounds(levels, {.high = most, .caller = "roi_align", .subject = "level", .range = "levels"}),
                  DType::i64);
  }
  // Pixels of all levels as the rows of one matrix.
  std::vector<T> rows;
  std::vector<std::int64_t> first, size[2];
  std::int64_t before = 0;
  for (const T& level : pyramid) {
    first.push_back(before);
    for (const std::size_t axis : {0, 1}) size[axis].push_back(level.shape()[axis + 1]);
    rows.push_back(reshape(level, {level.shape()[0] * level.shape()[1] * level.shape()[2], channels}));
    before += rows.back().shape()[0];
  }
  const T pixels = rows.size() == 1 ? rows[0] : T(concat<Any>(rows, 0));
  const T scale = for_boxes(levels.defined() ? options.scales : std::vector{options.scale}, levels, type);
  const T scaled = T(cast_to(as_floating(given_boxes), type)) * scale - (options.aligned ? 0.5 : 0.0);
  // For each sample of a cell, the taps along an axis for all boxes and cells.
  std::vector<std::vector<Tap>> taps[2];
  for (std::size_t axis = 0; axis < 2; ++axis) {  // height: y1, y2; width: x1, x2
    const auto corner = static_cast<std::int64_t>(1 - axis);
    const T begin = part_along(scaled, 1, corner, 1), end = part_along(scaled, 1, corner + 2, 1);
    const T length = options.aligned ? end - begin : maximum(end - begin, 1.0);
    const T cell = reshape(cast(counted(x, options.size[axis], 1), type), {1, options.size[axis]});
    const Shape shape = axis == 0 ? Shape{count, options.size[axis], 1} : Shape{count, 1, options.size[axis]};
    for (std::int64_t sample = 0; sample < options.samples; ++sample) {
      const double within = (static_cast<double>(sample) + 0.5) / static_cast<double>(options.samples);
      const T place = begin + length * (cell + within) / static_cast<double>(options.size[axis]);
      taps[axis].push_back(neighbours(place, for_boxes(size[axis], levels, type)));
      for (Tap& tap : taps[axis].back()) tap = {reshape(tap.element, shape), reshape(tap.weight, shape)};
    }
  }
  const T images = cast(
      check_bounds(given_images,
                   {.high = x.shape()[0] - 1, .caller = std::string(op), .subject = "image number", .range = "images"}),
      DType::i64);
  const auto whole = [&](const std::vector<std::int64_t>& of_levels) {
    const T each = for_boxes(of_levels, levels, DType::i64);
    return levels.defined() ? expand_dims(each, -1) : each;
  };
  const T height = whole(size[0]), width = whole(size[1]), base = whole(first);
  // Sample by sample, so that a mean stores nothing larger than itself.
  const T image_rows = reshape(images, {count, 1, 1}) * height;
  std::vector<T> samples;
  T sum;
  for (const std::vector<Tap>& down : taps[0]) {
    for (const std::vector<Tap>& right : taps[1]) {
      if (options.maximum) sum = {};
      for (const Tap& y : down) {
        const T line = base + (image_rows + y.element) * width;
        for (const Tap& along : right) {
          const T part = take(pixels, line + along.element, 0) * expand_dims(y.weight * along.weight, -1);
          sum = sum.defined() ? sum + part : part;
        }
      }
      if (options.maximum) samples.push_back(sum);
    }
  }
  const T found =
      options.maximum ? max(T(stack<Any>(samples)), 0) : sum / static_cast<double>(options.samples * options.samples);
  return options.layout == Layout::nhwc ? found : transpose(found, channels_first(4));
}

// nms

std::vector<TensorType> infer_nms(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& wanted = get<NmsAttributes>(attributes);
  const TensorType &boxes = inputs[0], &scores = inputs[1];
  if (boxes.shape.rank() != 2 || boxes.shape[1] != 4) {
    throw_error<ShapeError>("nms: boxes (count, 4) are needed, not ", boxes.shape);
  }
  if (scores.shape != Shape{boxes.shape[0]}) {
    throw_error<ShapeError>("nms: ", boxes.shape[0], " scores are needed, not shape ", scores.shape);
  }
  check_same_type("nms", boxes, scores);
  if (boxes.dtype != DType::f32 && boxes.dtype != DType::f64) {
    throw_error<TypeError>("nms: boxes of f32 or f64 are needed, not ", boxes.dtype);
  }
  if (wanted.count < 0) throw_error<ValueError>("nms: the count ", wanted.count, " is negative");
  check_lengths("nms", {wanted.count});
  return {{DType::i64, {wanted.count}, false}, {DType::i64, {}, false}};
}

}  // namespace

std::span<const OpDef> resampling_operators() {
  static const OpDef rows[] = {
      {.id = OpId::nms,
       .doc = "Boxes that overlap no better one too much, and how many.",
       .min_inputs = 2,
       .max_inputs = 2,
       .results = 2,
       .infer = infer_nms,
       .sample = [](DType t) -> Value {
         return nms(samples::T::ones({2, 4}, t), samples::T::ones({2}, t)).indices;
       }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> resize(const Tensor<M>& x, const PerAxis& size, const ResizeOptions& options) {
  return core::resampled(core::given("resize", x), size, options).value();
}
template <class M>
Tensor<M> grid_sample(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& grid,
                      const GridSampleOptions& options) {
  return core::sampled(core::given("grid_sample", x), core::given("grid_sample", grid), options).value();
}
template <class M>
Tensor<M> roi_align(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& boxes,
                    const std::type_identity_t<Tensor<M>>& images, const RoiAlignOptions& options) {
  TYTO_ONCE(roi_align, x, boxes, images, options);
  return core::cut_out({Tensor<Any>(core::given("roi_align", x))}, Tensor<Any>(core::given("roi_align", boxes)),
                       Tensor<Any>(core::given("roi_align", images)), {}, options)
      .value();
}
template <class M>
Tensor<M> roi_align(const std::vector<Tensor<M>>& pyramid, const std::type_identity_t<Tensor<M>>& boxes,
                    const std::type_identity_t<Tensor<M>>& images, const std::type_identity_t<Tensor<M>>& levels,
                    const RoiAlignOptions& options) {
  TYTO_ONCE(roi_align, pyramid, boxes, images, levels, options);
  std::vector<Tensor<Any>> given;
  for (const Tensor<M>& level : pyramid) given.emplace_back(core::given("roi_align", level));
  return core::cut_out(given, Tensor<Any>(core::given("roi_align", boxes)),
                       Tensor<Any>(core::given("roi_align", images)), Tensor<Any>(core::given("roi_align", levels)),
                       options)
      .value();
}
template <class M>
Kept<M> nms(const Tensor<M>& boxes, const std::type_identity_t<Tensor<M>>& scores, const NmsOptions& options) {
  TYTO_ONCE(nms, boxes, scores, options);
  const Value given[] = {core::given("nms", boxes), core::given("nms", scores)};
  if (options.count < 0) core::throw_error<ValueError>("nms: the count ", options.count, " is negative");
  const std::size_t rank = boxes.shape().size();
  if (rank > 2) {
    const Shape batch(std::span(boxes.shape().data(), rank - 2));
    if (scores.shape() != Shape(std::span(boxes.shape().data(), rank - 1))) {
      core::throw_error<ShapeError>("nms: a score for each of the boxes ", boxes.shape(), " is needed, not shape ",
                                    scores.shape());
    }
    if (boxes.shape()[rank - 1] != 4) {
      core::throw_error<ShapeError>("nms: boxes (..., count, 4) are needed, not ", boxes.shape());
    }
    const std::int64_t count = boxes.shape()[rank - 2];
    const std::int64_t sets = std::accumulate(batch.begin(), batch.end(), std::int64_t{1}, std::multiplies<>());
    const Tensor<M> each_boxes = reshape(boxes, {sets, count, boxes.shape()[rank - 1]});
    const Tensor<M> each_scores = reshape(scores, {sets, count});
    std::vector<Tensor<M>> indices, counts;
    for (std::int64_t i = 0; i < sets; ++i) {
      const Kept<M> kept = nms<M>(each_boxes(i), each_scores(i), options);
      indices.push_back(kept.indices);
      counts.push_back(kept.count);
    }
    Shape shape = batch;
    shape.push_back(options.count == 0 ? count : options.count);
    if (sets == 0) return {Tensor<M>::zeros(shape, DType::i64), Tensor<M>::zeros(batch, DType::i64)};
    return {reshape(stack(indices), shape), reshape(stack(counts), batch)};
  }
  const DType common = core::common_type(given);
  const DType type = common == DType::f64 ? DType::f64 : DType::f32;
  const std::int64_t all_of_them = rank == 0 ? 0 : boxes.shape()[0];
  const core::NmsAttributes attributes{options.count == 0 ? all_of_them : options.count, options.overlap,
                                       options.score};
  const Value found =
      core::emit(core::OpId::nms, attributes, {core::cast_to(given[0], type), core::cast_to(given[1], type)});
  return {found, core::result(found, 1)};
}

TYTO_INSTANTIATE(resize)
TYTO_INSTANTIATE(grid_sample)
#define TYTO_INSTANTIATE_REGIONS(M)                                                                                 \
  template Tensor<M> roi_align(const Tensor<M>&, const Tensor<M>&, const Tensor<M>&, const RoiAlignOptions&);       \
  template Tensor<M> roi_align(const std::vector<Tensor<M>>&, const Tensor<M>&, const Tensor<M>&, const Tensor<M>&, \
                               const RoiAlignOptions&);
TYTO_INSTANTIATE_REGIONS(Eager)
TYTO_INSTANTIATE_REGIONS(Lazy)
TYTO_INSTANTIATE_REGIONS(Any)
TYTO_INSTANTIATE(nms)

}  // namespace TYTO_API
