// SPDX-License-Identifier: MIT
// Convolution by Fourier transforms, and transforms of short frames of a signal.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "ops/fft.hpp"
#include "tyto/complex.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto {
namespace fft TYTO_API {

namespace {

/// The part of a full convolution that is kept, along one axis, for operands of these lengths.
struct Kept {
  std::int64_t start, count;
};
Kept kept_of(Overlap overlap, std::int64_t a, std::int64_t b) {
  const std::int64_t full = a + b - 1;
  if (overlap == Overlap::full) return {0, full};
  const std::int64_t count = overlap == Overlap::same ? a : a - b + 1;
  return {(full - count) / 2, count};
}

}  // namespace

template <class M>
Tensor<M> fftconvolve(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, Overlap overlap, const Axes& over) {
  TYTO_ONCE(fftconvolve, a, b, overlap, over);
  Tensor<M> left = core::given("fftconvolve", a), right = core::given("fftconvolve", b);
  if (left.ndim() != right.ndim()) {
    core::throw_error<ShapeError>("fftconvolve: operands of shapes ", left.shape(), " and ", right.shape(),
                                  " must have as many axes");
  }
  const IntList axes = core::normalise_axes("fftconvolve", over, left.ndim());
  const auto length = [](const Tensor<M>& x, std::int64_t axis) { return x.shape()[static_cast<std::size_t>(axis)]; };
  const auto covers = [&](const Tensor<M>& x, const Tensor<M>& y) {
    return std::ranges::all_of(axes, [&](std::int64_t axis) { return length(x, axis) >= length(y, axis); });
  };
  if (overlap == Overlap::valid && !covers(left, right)) {
    if (!covers(right, left)) {
      core::throw_error<ShapeError>("fftconvolve: of ", left.shape(), " and ", right.shape(),
                                    " neither is the larger along every axis, so they overlap nowhere fully");
    }
    std::swap(left, right);
  }
  if (axes.empty()) return left * right;
  // Integers are transformed in the type of what they meet.
  const Value operands[] = {left, right};
  const DType type = core::common_type(operands);
  if (is_inexact(type)) {
    left = core::cast_to(left, is_complex(left.dtype()) ? type : real_type(type));
    right = core::cast_to(right, is_complex(right.dtype()) ? type : real_type(type));
  }
  const bool complex = is_complex(left.dtype()) || is_complex(right.dtype());
  IntList fast;
  for (const std::int64_t axis : axes) {
    if (length(left, axis) == 0 || length(right, axis) == 0) {
      core::throw_error<ShapeError>("fftconvolve: axis ", axis, " of ", left.shape(), " and ", right.shape(),
                                    " is empty, so nothing is there to convolve");
    }
    fast.push_back(next_fast_length(length(left, axis) + length(right, axis) - 1));
  }
  const AxesOptions options{.s = fast, .axes = Axes(axes)};
  Tensor<M> product = complex ? ifftn(fftn(left, options) * fftn(right, options), options)
                              : irfftn(rfftn(left, options) * rfftn(right, options), options);
  for (const std::int64_t axis : axes) {
    const Kept kept = kept_of(overlap, length(left, axis), length(right, axis));
    product = Tensor<M>(core::part_along(product, static_cast<std::size_t>(axis), kept.start, kept.count));
  }
  return product;
}

namespace {

struct Frames {
  std::int64_t hop, count;
};

std::int64_t hop_of(std::string_view op, std::int64_t n, const FrameOptions& options) {
  if (n < 1) core::throw_error<ValueError>(op, ": frames of ", n, " samples do not exist");
  const std::int64_t hop = options.hop == 0 ? std::max<std::int64_t>(n / 4, 1) : options.hop;
  if (hop < 1) core::throw_error<ValueError>(op, ": the hop ", hop, " does not go forward");
  return hop;
}

/// The window in the middle of n elements; ones where there is none.
template <class M>
Tensor<M> window_of(std::string_view op, const Tensor<M>& window, std::int64_t n, const Value& beside) {
  const DType real = real_type(complex_type(beside.dtype()));
  if (!window.defined()) {
    return core::emit(core::mode_like(beside), core::OpId::fill, core::RangeAttributes{{n}, real, 1.0, 0});
  }
  if (window.ndim() != 1 || window.size() > n) {
    core::throw_error<ShapeError>(op, ": the window must be a vector of at most ", n, " elements, not of shape ",
                                  window.shape());
  }
  const std::int64_t before = (n - window.size()) / 2;
  return pad(window.astype(real), {before}, {n - window.size() - before});
}

/// Sample `hop * frame + place` for each frame and place in it.
Value positions_of(const Value& beside, const Frames& frames, std::int64_t n) {
  using T = core::AnyTensor;
  const core::Mode mode = core::mode_like(beside);
  const auto counted = [&](std::int64_t count, std::int64_t step) {
    return T(core::emit(mode, core::OpId::arange, core::RangeAttributes{{count}, DType::i64, Scalar(0), Scalar(step)}));
  };
  return expand_dims(counted(frames.count, frames.hop), 1) + counted(n, 1);
}

}  // namespace

template <class M>
Tensor<M> stft(const Tensor<M>& x, std::int64_t n, const std::type_identity_t<Tensor<M>>& window,
               const FrameOptions& options) {
  TYTO_ONCE(stft, x, n, window, options);
  Tensor<M> signal = core::as_floating(core::given("stft", x));
  if (signal.ndim() == 0) throw ShapeError("stft: a signal needs an axis, but it is a number");
  const std::int64_t hop = hop_of("stft", n, options);
  if (options.center) {
    if (signal.shape().back() <= n / 2) {
      core::throw_error<ShapeError>("stft: a signal of ", signal.shape().back(),
                                    " samples is too short to be reflected by ", n / 2,
                                    " at its ends; see FrameOptions::center");
    }
    IntList margin(signal.shape().size(), 0);
    margin[margin.size() - 1] = n / 2;
    signal = pad(signal, margin, margin, PaddingMode::reflect);
  }
  const std::int64_t length = signal.shape().back();
  if (length < n) {
    core::throw_error<ShapeError>("stft: a signal of ", length, " samples has no frame of ", n);
  }
  const Frames frames{hop, (length - n) / hop + 1};
  const Tensor<M> cut = take(signal, Tensor<M>(positions_of(signal, frames, n)), -1);
  const Tensor<M> weighted = cut * window_of("stft", Tensor<M>(window), n, signal);
  const AxisOptions transform{.norm = options.normalized ? Norm::ortho : Norm::backward};
  const bool half = options.onesided && !is_complex(signal.dtype());
  return swapaxes(half ? rfft(weighted, transform) : fft(weighted, transform), -1, -2);
}

template <class M>
Tensor<M> istft(const Tensor<M>& x, std::int64_t n, const std::type_identity_t<Tensor<M>>& window,
                const FrameOptions& options) {
  TYTO_ONCE(istft, x, n, window, options);
  const Tensor<M> spectra = core::as_complex(core::given("istft", x));
  const std::int64_t hop = hop_of("istft", n, options), frame = window.defined() ? window.size() : n;
  if (hop > frame) {
    core::throw_error<ValueError>("istft: the hop ", hop, " is beyond the ", frame,
                                  window.defined() ? " elements of the window" : " samples of a frame",
                                  ", so the samples between them are unknown");
  }
  const std::int64_t wanted = options.onesided ? n / 2 + 1 : n;
  if (spectra.ndim() < 2 || spectra.shape()[spectra.shape().size() - 2] != wanted) {
    core::throw_error<ShapeError>("istft: spectra of frames of ", n, " samples have shape (..., ", wanted,
                                  ", frames), not ", spectra.shape());
  }
  const AxisOptions transform{.n = n, .norm = options.normalized ? Norm::ortho : Norm::backward};
  const Tensor<M> turned = swapaxes(spectra, -1, -2);
  const Tensor<M> parts = options.onesided ? irfft(turned, transform) : ifft(turned, transform);
  const Tensor<M> weights = window_of("istft", Tensor<M>(window), n, spectra);
  const Frames frames{hop, spectra.shape().back()};
  const std::int64_t total = n + hop * (frames.count - 1);
  // The frames' samples come first, so that positions name places in time.
  const Tensor<M> positions(positions_of(spectra, frames, n));
  const auto added = [&](const Tensor<M>& values) {
    const int rank = values.ndim();
    IntList first{rank - 2, rank - 1};
    for (int axis = 0; axis + 2 < rank; ++axis) first.push_back(axis);
    const Tensor<M> ordered = transpose(values, first);
    Shape shape(std::span(ordered.shape().data() + 1, ordered.shape().size() - 1));
    shape[0] = total;
    const Tensor<M> zeros =
        core::emit(core::mode_like(values), core::OpId::fill, core::RangeAttributes{shape, values.dtype(), 0, 0});
    return moveaxis(scatter_add(zeros, std::vector<Tensor<M>>{positions}, ordered), 0, -1);
  };
  const Tensor<M> envelope = added(broadcast_to(square(weights), {frames.count, n}));
  const Tensor<M> covered = greater(envelope, 1e-11);
  Tensor<M> signal = added(parts * weights) / where(covered, envelope, 1);
  const auto time = static_cast<std::size_t>(signal.ndim() - 1);
  const std::int64_t start = options.center ? n / 2 : 0;
  const std::int64_t end = options.length ? start + *options.length : total - start;
  if (end <= start) core::throw_error<ShapeError>("istft: ", frames.count, " frames of ", n, " make no signal");
  signal = core::part_along(signal, time, start, std::min(end, total) - start);
  return core::resized(signal, time, end - start);
}

TYTO_INSTANTIATE_FFT(fftconvolve)
TYTO_INSTANTIATE_FFT(stft)
TYTO_INSTANTIATE_FFT(istft)

}  // namespace TYTO_API
}  // namespace tyto
