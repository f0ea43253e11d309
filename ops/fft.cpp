// SPDX-License-Identifier: MIT
// Fourier transforms along one axis, which devices run, and the transforms of numpy.fft made of them.
#include "ops/fft.hpp"

#include <algorithm>
#include <cmath>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/complex.hpp"
#include "tyto/fft.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

const TransformAttributes& transform_of(const Attributes& attributes) { return get<TransformAttributes>(attributes); }

/// The axis of the transform, along which the input must have so many elements.
std::size_t checked_axis(std::string_view op, const TransformAttributes& transform, const Shape& shape,
                         std::int64_t wanted) {
  const std::size_t axis = axis_among(op, transform.axis, shape);
  if (transform.length < 1)
    throw_error<ValueError>(op, ": a transform of ", transform.length, " points does not exist");
  if (shape[axis] != wanted) {
    throw_error<ShapeError>(op, ": axis ", axis, " of shape ", shape, " must have length ", wanted,
                            " for a transform of ", transform.length, " points");
  }
  return axis;
}

void check_complex(std::string_view op, DType dtype) {
  if (!is_complex(dtype)) throw_error<TypeError>(op, ": complex elements are needed, not ", dtype);
}

std::vector<TensorType> infer_fft(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_complex("fft", inputs[0].dtype);
  (void)checked_axis("fft", transform_of(attributes), inputs[0].shape, transform_of(attributes).length);
  return one(inputs[0].dtype, inputs[0].shape);
}

std::vector<TensorType> infer_rfft(const Attributes& attributes, std::span<const TensorType> inputs) {
  const TransformAttributes& transform = transform_of(attributes);
  if (inputs[0].dtype != DType::f32 && inputs[0].dtype != DType::f64) {
    throw_error<TypeError>("rfft: elements of f32 or f64 are needed, not ", inputs[0].dtype);
  }
  Shape shape = inputs[0].shape;
  shape[checked_axis("rfft", transform, shape, transform.length)] = transform.length / 2 + 1;
  return one(complex_type(inputs[0].dtype), shape);
}

std::vector<TensorType> infer_irfft(const Attributes& attributes, std::span<const TensorType> inputs) {
  const TransformAttributes& transform = transform_of(attributes);
  check_complex("irfft", inputs[0].dtype);
  Shape shape = inputs[0].shape;
  shape[checked_axis("irfft", transform, shape, transform.length / 2 + 1)] = transform.length;
  return one(real_type(inputs[0].dtype), shape);
}

/// Each element along the transform's axis multiplied: those that stand for themselves alone by `alone`, the others,
/// which stand for their conjugates too, by `paired`.
T weighted(const T& half, const TransformAttributes& transform, double alone, double paired) {
  const auto axis = static_cast<std::size_t>(transform.axis);
  const std::int64_t count = half.shape()[axis];
  Shape along(half.shape().size(), 1);
  along[axis] = count;
  const T place = arange_like(half, count);
  const T single = logical_or(equal(place, 0), equal(2 * place, transform.length));
  return half * reshape(where(single, alone, paired), along);
}

// The conjugate transpose of a transform is the one in the other direction.
std::vector<Value> fft_gradient(const GradientContext& c) {
  TransformAttributes back = transform_of(c.attributes);
  back.inverse = !back.inverse;
  return {emit(OpId::fft, back, {c.gradients[0]})};
}
std::vector<Value> rfft_gradient(const GradientContext& c) {
  const TransformAttributes& transform = transform_of(c.attributes);
  return {emit(OpId::irfft, transform, {weighted(c.gradients[0], transform, 1, 0.5)})};
}
std::vector<Value> irfft_gradient(const GradientContext& c) {
  const TransformAttributes& transform = transform_of(c.attributes);
  return {weighted(emit(OpId::rfft, transform, {c.gradients[0]}), transform, 1, 2)};
}

}  // namespace

std::span<const OpDef> fft_operators() {
  static const OpDef rows[] = {
      {.id = OpId::fft,
       .doc = "Fourier transform along an axis, or its inverse.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_fft,
       .gradient = fft_gradient,
       .sample = [](DType t) -> Value { return fft::fft(samples::line(t)); }},
      {.id = OpId::rfft,
       .doc = "Fourier transform of real numbers, without the half that is conjugate to the rest.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_rfft,
       .gradient = rfft_gradient,
       .sample = [](DType t) -> Value { return fft::rfft(samples::line(t)); }},
      {.id = OpId::irfft,
       .doc = "Real numbers from half of their transform.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_irfft,
       .gradient = irfft_gradient,
       .sample = [](DType t) -> Value { return fft::irfft(samples::line(t)); }},
  };
  return rows;
}

namespace {

double scale_of(fft::Norm norm, bool inverse, std::int64_t length) {
  const auto n = static_cast<double>(length);
  if (norm == fft::Norm::ortho) return 1 / std::sqrt(n);
  return (norm == fft::Norm::forward) != inverse ? 1 / n : 1;
}

}  // namespace

Value resized(const Value& x, std::size_t axis, std::int64_t length) {
  const std::int64_t own = x.shape()[axis];
  if (own == length) return x;
  if (own > length) return part_along(x, axis, 0, length);
  IntList before(x.shape().size(), 0), after(x.shape().size(), 0);
  after[axis] = length - own;
  return pad(T(x), before, after);
}

Value as_complex(const Value& x) { return cast_to(x, complex_type(x.dtype())); }

namespace {

/// As real numbers that a transform takes. Throws TypeError for complex ones.
Value as_real(std::string_view op, const Value& x) {
  if (is_complex(x.dtype())) {
    throw_error<TypeError>(op, ": the input must be real, not ", x.dtype(), "; fft transforms complex numbers");
  }
  return cast_to(x, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
}

std::int64_t checked_length(std::string_view op, std::int64_t length) {
  if (length < 1) throw_error<ValueError>(op, ": a transform of ", length, " points does not exist");
  // Kernels are prepared with tables as long as the transform, before there is anything to transform.
  constexpr std::int64_t longest = std::int64_t{1} << 36;
  if (length > longest)
    throw_error<ValueError>(op, ": a transform of ", length, " points; at most ", longest, " are computed");
  return length;
}

}  // namespace

Value transformed(const Transform& t, const Value& x, std::int64_t given_axis, std::optional<std::int64_t> n) {
  const Value& input = given(t.name, x);
  const auto axis = static_cast<std::size_t>(normalise_axis(t.name, given_axis, input.ndim()));
  const std::int64_t own = input.shape()[axis];
  const std::int64_t length = checked_length(t.name, n.value_or(t.op == OpId::irfft ? 2 * (own - 1) : own));
  const Value typed = t.op == OpId::rfft ? as_real(t.name, input) : as_complex(input);
  const Value fitting = resized(typed, axis, t.op == OpId::irfft ? length / 2 + 1 : length);
  const TransformAttributes attributes{static_cast<std::int64_t>(axis), length, t.inverse,
                                       scale_of(t.norm, t.inverse, length)};
  return emit(t.op, attributes, {fitting});
}

namespace {

struct AxisLength {
  std::int64_t axis;
  std::optional<std::int64_t> length;
};

std::vector<AxisLength> lengths_of(std::string_view op, const Value& x, const IntList& s, const Axes& axes) {
  const int rank = given(op, x).ndim();
  std::vector<AxisLength> out;
  if (axes.all()) {
    if (s.rank() > rank) {
      throw_error<ShapeError>(op, ": ", s.size(), " lengths ", s, " for the ", rank, " axes of shape ", x.shape());
    }
    const int first = s.empty() ? 0 : rank - s.rank();
    for (int axis = first; axis < rank; ++axis) out.push_back({axis, {}});
  } else {
    for (const std::int64_t axis : axes.list()) out.push_back({normalise_axis(op, axis, rank), {}});
  }
  if (!s.empty() && s.size() != out.size()) {
    throw_error<ShapeError>(op, ": ", s.size(), " lengths ", s, " for ", out.size(), " axes");
  }
  for (std::size_t i = 0; i < s.size(); ++i) out[i].length = s[i];
  return out;
}

Value along_all(const Transform& t, Value x, std::span<const AxisLength> axes) {
  for (std::size_t i = axes.size(); i-- > 0;) x = transformed(t, x, axes[i].axis, axes[i].length);
  return x;
}

}  // namespace

Value transformed_axes(const Transform& t, const Value& x, const IntList& s, const Axes& over) {
  const std::vector<AxisLength> axes = lengths_of(t.name, x, s, over);
  const std::span<const AxisLength> all = axes;
  const Transform plain{t.name, OpId::fft, t.inverse, t.norm};
  if (t.op == OpId::fft) {
    return axes.empty() ? as_complex(given(t.name, x)) : along_all(t, x, all);
  }
  if (axes.empty()) throw_error<ShapeError>(t.name, ": at least one axis is needed");
  const AxisLength last = axes.back();
  const std::span<const AxisLength> others = all.first(axes.size() - 1);
  if (t.op == OpId::rfft) return along_all(plain, transformed(t, x, last.axis, last.length), others);
  return transformed(t, along_all(plain, x, others), last.axis, last.length);
}

}  // namespace tyto::core

namespace tyto {
namespace fft TYTO_API {

using core::OpId;
using core::Transform;

#define TYTO_TRANSFORM(name, op, inverse)                                                  \
  template <class M>                                                                       \
  Tensor<M> name(const Tensor<M>& x, const AxisOptions& o) {                               \
    return core::transformed(Transform{#name, OpId::op, inverse, o.norm}, x, o.axis, o.n); \
  }                                                                                        \
  TYTO_INSTANTIATE_FFT(name)
#define TYTO_TRANSFORMS(name, options, op, inverse)                                             \
  template <class M>                                                                            \
  Tensor<M> name(const Tensor<M>& x, const options& o) {                                        \
    return core::transformed_axes(Transform{#name, OpId::op, inverse, o.norm}, x, o.s, o.axes); \
  }                                                                                             \
  TYTO_INSTANTIATE_FFT(name)

TYTO_TRANSFORM(fft, fft, false)
TYTO_TRANSFORM(ifft, fft, true)
TYTO_TRANSFORM(rfft, rfft, false)
TYTO_TRANSFORM(irfft, irfft, true)
TYTO_TRANSFORMS(fft2, PlaneOptions, fft, false)
TYTO_TRANSFORMS(ifft2, PlaneOptions, fft, true)
TYTO_TRANSFORMS(rfft2, PlaneOptions, rfft, false)
TYTO_TRANSFORMS(irfft2, PlaneOptions, irfft, true)
TYTO_TRANSFORMS(fftn, AxesOptions, fft, false)
TYTO_TRANSFORMS(ifftn, AxesOptions, fft, true)
TYTO_TRANSFORMS(rfftn, AxesOptions, rfft, false)
TYTO_TRANSFORMS(irfftn, AxesOptions, irfft, true)

namespace {

// The transform of a signal with a conjugate second half is that of a spectrum with one, in the other direction.
Norm exchanged(Norm norm) {
  return norm == Norm::backward ? Norm::forward : norm == Norm::forward ? Norm::backward : norm;
}

}  // namespace

template <class M>
Tensor<M> hfft(const Tensor<M>& x, const AxisOptions& o) {
  const Transform t{"hfft", OpId::irfft, true, exchanged(o.norm)};
  return core::transformed(t, conj(Tensor<M>(core::given("hfft", x))), o.axis, o.n);
}

template <class M>
Tensor<M> ihfft(const Tensor<M>& x, const AxisOptions& o) {
  const Transform t{"ihfft", OpId::rfft, false, exchanged(o.norm)};
  return conj(Tensor<M>(core::transformed(t, x, o.axis, o.n)));
}

namespace {

template <class M>
Tensor<M> shifted(std::string_view op, const Tensor<M>& x, const Axes& over, bool back) {
  core::require(op, x);
  const IntList axes = core::normalise_axes(op, over, x.ndim());
  IntList shifts;
  for (const std::int64_t axis : axes) {
    const std::int64_t half = x.shape()[static_cast<std::size_t>(axis)] / 2;
    shifts.push_back(back ? -half : half);
  }
  return axes.empty() ? Tensor<M>(core::resolve(x)) : roll(x, shifts, Axes(axes));
}

void check_samples(std::string_view op, std::int64_t n, double d) {
  if (n < 1) core::throw_error<ValueError>(op, ": there are no frequencies of ", n, " samples");
  if (d == 0) core::throw_error<ValueError>(op, ": samples must be apart, not 0");
}

}  // namespace

template <class M>
Tensor<M> fftshift(const Tensor<M>& x, const Axes& axes) {
  TYTO_ONCE(fftshift, x, axes);
  return shifted("fftshift", x, axes, false);
}
template <class M>
Tensor<M> ifftshift(const Tensor<M>& x, const Axes& axes) {
  TYTO_ONCE(ifftshift, x, axes);
  return shifted("ifftshift", x, axes, true);
}

template <class M>
Tensor<M> fftfreq(std::int64_t n, double d, DType dtype) {
  check_samples("fftfreq", n, d);
  const Tensor<M> counted = ifftshift(Tensor<M>::arange(-(n / 2), n - n / 2));
  return (counted.astype(DType::f64) * (1 / (static_cast<double>(n) * d))).astype(dtype);
}
template <class M>
Tensor<M> rfftfreq(std::int64_t n, double d, DType dtype) {
  check_samples("rfftfreq", n, d);
  return (Tensor<M>::arange(n / 2 + 1).astype(DType::f64) * (1 / (static_cast<double>(n) * d))).astype(dtype);
}

std::int64_t next_fast_length(std::int64_t n) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  if (n > most) core::throw_error<ValueError>("next_fast_length: the length ", n, " is above 2^62");
  std::int64_t best = 1;
  while (best < n) best *= 2;
  // Steps that would pass `best`, and may overflow, end the loops.
  for (std::int64_t fives = 1; fives < best; fives = best / 5 < fives ? best : fives * 5) {
    for (std::int64_t odd = fives; odd < best; odd = best / 3 < odd ? best : odd * 3) {
      std::int64_t length = odd;
      while (length < n) length *= 2;
      best = std::min(best, length);
    }
  }
  return best;
}

TYTO_INSTANTIATE_FFT(hfft)
TYTO_INSTANTIATE_FFT(ihfft)
TYTO_INSTANTIATE_FFT(fftshift)
TYTO_INSTANTIATE_FFT(ifftshift)
TYTO_INSTANTIATE_FFT(fftfreq)
TYTO_INSTANTIATE_FFT(rfftfreq)

}  // namespace TYTO_API
}  // namespace tyto
