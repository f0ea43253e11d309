// SPDX-License-Identifier: MIT
// Signals: windows, Fourier transforms as products with matrices of waves, mel weights.
#include <cmath>
#include <numbers>

#include "onnx/file/element_types.hpp"
#include "onnx/program/operators.hpp"
#include "onnx/program/regions.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

/// The sum of a[k] cos(2 pi k i / period) with alternating signs: what the named windows differ in is `a`.
Outputs cosine_window(const OperatorCall& call, const std::vector<double>& a) {
  const std::int64_t size = call.integer_in(0);
  const double period = static_cast<double>(call.integer("periodic", 1) != 0 ? size : size - 1);
  const std::int64_t type = call.integer("output_datatype", 1);
  const std::optional<DType> dtype = computed_dtype_from(type);
  if (!dtype || size < 0) call.refuse("a window of ", size, " elements of type ", element_type_name(type));
  std::vector<double> values;
  require_numbers(size);
  values.reserve(static_cast<std::size_t>(size));  // or fail at once
  for (std::int64_t i = 0; i < size; ++i) {
    double value = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const double wave = std::cos(2 * std::numbers::pi * static_cast<double>(k) * static_cast<double>(i) / period);
      value += (k % 2 == 0 ? 1 : -1) * a[k] * wave;
    }
    values.push_back(value);
  }
  return {cast(Array::from(values, {size}), *dtype)};
}
Outputs hann(const OperatorCall& call) { return cosine_window(call, {0.5, 0.5}); }
Outputs hamming(const OperatorCall& call) { return cosine_window(call, {25.0 / 46, 21.0 / 46}); }
Outputs blackman(const OperatorCall& call) { return cosine_window(call, {0.42, 0.5, 0.08}); }

/// Waves of `frequencies` frequencies over `length` samples.
struct Waves {
  Array cosine;  // (length, frequencies)
  Array sine;
};

Waves waves(std::int64_t length, std::int64_t frequencies, std::int64_t period, DType dtype) {
  std::vector<double> cosines, sines;
  const auto count = static_cast<double>(length) * static_cast<double>(frequencies);
  if (count > 0x1p40) core::throw_error<ValueError>("a transform of ", length, " numbers into ", frequencies);
  require_numbers(2 * length, frequencies);
  cosines.reserve(static_cast<std::size_t>(length * frequencies));
  sines.reserve(cosines.capacity());
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t k = 0; k < frequencies; ++k) {
      // Brought into one turn as integers, or large products would lose digits.
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * k % period) / static_cast<double>(period);
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  }
  return {cast(Array::from(cosines, {length, frequencies}), dtype),
          cast(Array::from(sines, {length, frequencies}), dtype)};
}

/// The transform of signals (..., length, 1 or 2), real or with imaginary parts, as (..., frequencies, 2).
Array transformed(const Array& x, std::int64_t period, std::int64_t frequencies, bool inverse) {
  const std::int64_t rank = x.ndim(), length = axis_length(x, static_cast<std::size_t>(rank - 2));
  const Waves w = waves(length, frequencies, period, x.dtype());
  const bool complex = axis_length(x, static_cast<std::size_t>(rank - 1)) == 2;
  const Array real = at_position(x, -1, 0);
  const double sign = inverse ? 1 : -1;
  Array out_real = matmul(real, w.cosine), out_imaginary = matmul(real, w.sine) * sign;
  if (complex) {
    const Array imaginary = at_position(x, -1, 1);
    out_real = out_real - matmul(imaginary, w.sine) * sign;
    out_imaginary = out_imaginary + matmul(imaginary, w.cosine);
  }
  const Array y = stack<Any>({out_real, out_imaginary}, -1);
  return inverse ? y / static_cast<double>(period) : y;
}

/// The real signal (..., period, 1) of a spectrum of which the second half is left out, being the first one's mirror
/// image: every frequency but the lowest and, in even periods, the highest counts twice.
Array signal_of_half(const Array& x, std::int64_t period) {
  const std::int64_t frequencies = period / 2 + 1;
  const Waves w = waves(frequencies, period, period, x.dtype());
  std::vector<double> counts(static_cast<std::size_t>(frequencies), 2);
  counts.front() = 1;
  if (period % 2 == 0) counts.back() = 1;
  const Array weights = cast(Array::from(counts, {frequencies}), x.dtype()) / static_cast<double>(period);
  Array y = matmul(at_position(x, -1, 0) * weights, w.cosine);
  if (x.shape().back() == 2) y = y - matmul(at_position(x, -1, 1) * weights, w.sine);
  return expand_dims(y, -1);
}

Array discrete_transform(const OperatorCall& call, std::int64_t axis) {
  Array x = call[0];
  const bool inverse = call.integer("inverse", 0) != 0, one_sided = call.integer("onesided", 0) != 0;
  if (axis < 0) axis += x.ndim();
  if (axis < 0 || axis >= x.ndim() - 1) call.refuse("axis ", axis, " of shape ", x.shape());
  x = moveaxis(x, axis, x.ndim() - 2);
  const auto at = static_cast<std::size_t>(x.ndim() - 2);
  const bool mirrored = inverse && one_sided;
  const std::int64_t own = axis_length(x, at), period = call.has(1) ? call.integer_in(1)
                                                        : mirrored  ? 2 * (own - 1)
                                                                    : own;
  const std::int64_t length = mirrored ? period / 2 + 1 : period;
  if (period < 0) call.refuse("a transform of length ", period);
  call.require_bounded("dft_length", period);
  if (own > length) {
    x = std::as_const(x).get({ellipsis, slice(0, length), all});
  } else if (own < length) {
    IntList after(static_cast<std::size_t>(x.ndim()), 0);
    after[at] = length - own;
    x = pad(x, IntList(after.size(), 0), after);
  }
  const Array y =
      mirrored ? signal_of_half(x, period) : transformed(x, period, one_sided ? period / 2 + 1 : period, inverse);
  return moveaxis(y, y.ndim() - 2, axis);
}
Outputs transform_by_attribute(const OperatorCall& call) { return {discrete_transform(call, call.integer("axis", 1))}; }
// Where the axis comes with the data, lengths must be the same along each.
Outputs transform_by_input(const OperatorCall& call) {
  if (!call.has(2)) return {discrete_transform(call, -2)};
  const Shape& shape = call[0].shape();
  const bool keeps_lengths = call.integer("onesided", 0) == 0 && !call.has(1);
  const bool alike = std::all_of(shape.begin(), shape.end() - (shape.empty() ? 0 : 1),
                                 [&](std::int64_t length) { return length == shape[0]; });
  if (!call.known(2) && !keeps_lengths && !alike) call.require_known(2);
  return {
      along_named_axis(call, 2, call[0].ndim() - 1, [&](std::int64_t axis) { return discrete_transform(call, axis); })};
}

Outputs short_time_transform(const OperatorCall& call) {
  Array x = call[0];
  const bool one_sided = call.integer("onesided", 1) != 0;
  const std::int64_t step = call.integer_in(1);
  std::int64_t length = 0;
  if (call.has(2)) length = call[2].size();
  if (call.has(3)) length = call.integer_in(3);
  if (x.ndim() == 2) x = expand_dims(x, -1);
  if (x.ndim() != 3) call.refuse("a signal of shape ", x.shape());
  if (length < 1 || step < 1 || axis_length(x, 1) < length)
    call.refuse("frames of ", length, " every ", step, " of ", x.shape());
  const std::int64_t frames = (axis_length(x, 1) - length) / step + 1;
  std::vector<std::int64_t> places;
  require_numbers(frames, length);
  places.reserve(static_cast<std::size_t>(frames * length));
  for (std::int64_t f = 0; f < frames; ++f) {
    for (std::int64_t i = 0; i < length; ++i) places.push_back(f * step + i);
  }
  Array framed = take(x, Array::from(places, {frames, length}), 1);  // (batch, frames, length, 1 or 2)
  if (call.has(2)) framed = framed * expand_dims(call[2], -1);
  return {transformed(framed, length, one_sided ? length / 2 + 1 : length, false)};
}

// Triangles over the bins of a spectrum, evenly spaced in mel.
Outputs mel_weights(const OperatorCall& call) {
  const std::int64_t bins = call.integer_in(0), length = call.integer_in(1), rate = call.integer_in(2);
  const double low = call.number_in(3), high = call.number_in(4);
  const std::int64_t type = call.integer("output_datatype", 1);
  const std::optional<DType> dtype = computed_dtype_from(type);
  if (!dtype || bins < 1 || length < 1 || rate < 1) call.refuse(bins, " bins of ", element_type_name(type));
  const std::int64_t spectrum = length / 2 + 1;
  call.require_bounded("num_mel_bins", bins);
  call.require_bounded("dft_length", length);
  // Frequencies are not negative, and the edges are counted in integers.
  if (!(low >= 0 && low <= high && high <= 0x1p31)) call.refuse("frequencies from ", low, " to ", high);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  require_numbers(spectrum, bins);
  std::vector<double> weights(static_cast<std::size_t>(spectrum * bins), 0);
  std::vector<std::int64_t> edges;
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (mel(low) + static_cast<double>(i) * step) / 2595) - 1);
    edges.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  const auto put = [&](std::int64_t row, std::int64_t bin, double value) {
    if (row >= 0 && row < spectrum) weights[static_cast<std::size_t>(row * bins + bin)] = value;
  };
  for (std::int64_t b = 0; b < bins; ++b) {
    const auto at = static_cast<std::size_t>(b);
    const std::int64_t left = edges[at], centre = edges[at + 1], right = edges[at + 2];
    if (centre == left) put(centre, b, 1);
    for (std::int64_t i = left; i <= centre && centre != left; ++i) {
      put(i, b, static_cast<double>(i - left) / static_cast<double>(centre - left));
    }
    for (std::int64_t i = centre; i < right; ++i) {
      put(i, b, static_cast<double>(right - i) / static_cast<double>(right - centre));
    }
  }
  return {cast(Array::from(weights, {spectrum, bins}), *dtype)};
}

constexpr OperatorRow signal_table[] = {
    {"BlackmanWindow", 17, blackman},   {"DFT", 17, transform_by_attribute},
    {"DFT", 20, transform_by_input},    {"HammingWindow", 17, hamming},
    {"HannWindow", 17, hann},           {"MelWeightMatrix", 17, mel_weights},
    {"STFT", 17, short_time_transform},
};

}  // namespace

std::span<const OperatorRow> signal_rows() { return signal_table; }

}  // namespace tyto::onnx
