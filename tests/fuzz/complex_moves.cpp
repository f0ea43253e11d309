// SPDX-License-Identifier: MIT
// Moves through complex numbers, Fourier transforms and eigenvalues: from real tensors and back to real ones.
#include "tests/fuzz/drawing.hpp"

namespace tyto::fuzz {

namespace {

/// Numbers within (-1, 1), whatever was drawn.
template <class M>
Tensor<M> bounded(Drawing<M>& d, const Shape& shape, DType dtype) {
  const Tensor<M> x = d.shaped(shape, dtype);
  return where(isfinite(x), softsign(x), 0);
}

template <class M>
Tensor<M> pairs(Drawing<M>& d, const Shape& shape, DType dtype) {
  return complex(bounded(d, shape, dtype) + 0.25, bounded(d, shape, dtype));
}

template <class M>
Tensor<M> function_of(Drawing<M>& d, const Tensor<M>& z) {
  switch (d.dice().below(12)) {
    case 0: return conj(z);
    case 1: return exp(z * 0.25);
    case 2: return log(z + 3);
    case 3: return sqrt(z + 2);
    case 4: return tanh(z * 0.5);
    case 5: return sin(z * 0.25);
    case 6: return square(z);
    case 7: return reciprocal(z + 4);
    case 8: return sign(z + 2);
    case 9: return z / (abs(z) + 1);
    case 10: return where(greater(real(z), 0), z, -z);
    default: return atan(z * 0.125);
  }
}

template <class M>
Tensor<M> moved(Drawing<M>& d, const Tensor<M>& z) {
  switch (d.dice().below(8)) {
    case 0: return transpose(z);
    case 1: return flip(z);
    case 2: return roll(z, {1}, Axes(0));
    case 3: return z * Scalar::complex(0.5, -0.5);
    case 4: return z + bounded(d, z.shape(), DType::f32);
    case 5: return pad(z, {1, 0}, {0, 0});
    case 6: return view_as_complex(copy(view_as_real(z)));
    default: return matmul(z, transpose(z)) * 0.25;
  }
}

template <class M>
Tensor<M> as_real(Drawing<M>& d, const Tensor<M>& z) {
  switch (d.dice().below(5)) {
    case 0: return abs(z);
    case 1: return real(z);
    case 2: return imag(z);
    case 3: return abs(sum(z, 0));
    default: return view_as_real(z);
  }
}

/// Rows one part of which is whole, the other one number a row, or one for all.
template <class M>
Tensor<M> uneven_rows(Drawing<M>& d, const Shape& shape, DType dtype) {
  const Tensor<M> x = bounded(d, shape, dtype), average = mean(x, -1, true);
  switch (d.dice().below(5)) {
    case 0: return average * Scalar::complex(0.5, -1.0) - x;
    case 1: return x * average + Scalar::complex(0.0, 1.0);
    case 2: return softmax(x, -1) + average * Scalar::complex(0.0, 0.5);
    case 3: return average + x * Scalar::complex(0.0, 1.0);
    default: return (x - average).astype(dtype == DType::f32 ? DType::c64 : DType::c128);
  }
}

/// Rows that go on after sums and extremes of theirs, as a fused row loop computes them.
template <class M>
Tensor<M> complex_rows(Drawing<M>& d) {
  const Shape shape{d.dice().between(1, 4), d.dice().between(1, 70)};
  const DType dtype = d.dice().of({DType::f32, DType::f64});
  Tensor<M> z = d.dice().one_in(3) ? uneven_rows(d, shape, dtype) : pairs(d, shape, dtype);
  for (std::int64_t i = d.dice().between(0, 3); i > 0; --i) {
    switch (d.dice().below(7)) {
      case 0: z = z / (sum(abs(z), -1, true) + 1); break;
      case 1: z = z - mean(z, -1, true); break;
      case 2: z = z * max(abs(z), -1, true); break;
      case 3: z = z * softmax(real(z), -1); break;
      case 4: z = conj(z) * sum(z, -1, true) * 0.125; break;
      case 5: z = z / sqrt(sum(square(abs(z)), -1, true) + 1); break;
      default: z = z + Tensor<M>::full(shape, Scalar::complex(d.dice().of({0.0, 0.5}), 1.5)); break;
    }
    if (d.dice().one_in(2)) z = function_of(d, z / (abs(z) + 1));
  }
  return as_real(d, z);
}

template <class M>
Tensor<M> complex_numbers(Drawing<M>& d) {
  if (d.dice().one_in(3)) return complex_rows(d);
  const Shape shape{d.dice().between(1, 6), d.dice().between(1, 6)};
  Tensor<M> z = pairs(d, shape, d.dice().of({DType::f32, DType::f64}));
  for (std::int64_t i = d.dice().between(1, 4); i > 0; --i) {
    z = d.dice().one_in(2) ? function_of(d, z) : moved(d, z);
    z = z / (abs(z) + 1);
  }
  return as_real(d, z);
}

template <class M>
Tensor<M> transforms(Drawing<M>& d) {
  const DType dtype = d.dice().of({DType::f32, DType::f64});
  const Shape shape{d.dice().between(1, 20), d.dice().between(1, 20)};
  const std::int64_t axis = d.dice().below(2);
  const fft::AxisOptions along{.axis = axis, .norm = fft::Norm::ortho};
  switch (d.dice().below(4)) {
    case 0: return as_real(d, fft::fft(pairs(d, shape, dtype), along));
    case 1: return as_real(d, fft::ifft(pairs(d, shape, dtype), along));
    case 2: return as_real(d, fft::rfft(bounded(d, shape, dtype), along));
    default: return fft::irfft(pairs(d, {shape[0] + 1, shape[1] + 1}, dtype), along);
  }
}

/// Of eigenvalues what their order does not change. The diagonal keeps them apart.
template <class M>
Tensor<M> eigenvalues(Drawing<M>& d) {
  const std::int64_t size = d.dice().between(1, 5);
  const DType dtype = d.dice().of({DType::f32, DType::f64});
  const Tensor<M> a = bounded(d, {size, size}, dtype) + 4 * diag(Tensor<M>::arange(0, size, 1, dtype));
  if (d.dice().one_in(2)) return abs(sum(square(linalg::eigvals(a)), -1));
  const linalg::Eig<M> e = linalg::eig(a);
  return real(sum(square(abs(e.vectors)) * expand_dims(e.values, -2), -1));
}

}  // namespace

TYTO_FUZZ_MOVES(complex_moves, {"complex_numbers", 5, complex_numbers<M>}, {"transforms", 3, transforms<M>},
                {"eigenvalues", 2, eigenvalues<M>})

}  // namespace tyto::fuzz
