// SPDX-License-Identifier: MIT
// Discrete Fourier transforms of any length, as numpy.fft, and what is made of them: convolution and short-time
// transforms.
//
// Complex elements are c64 or c128; real ones are f32 or f64, other numbers become f32. All are differentiable, and in
// a graph their room is planned like that of any kernel.
#pragma once

#include <cstdint>
#include <optional>

#include "tyto/polynomials.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace fft TYTO_API {

/// Normalisation by the length n: divides the inverse transform by n, both by its root, or the transform by n.
enum class Norm : std::uint8_t { backward, ortho, forward };

/// Along one axis, which is first cut or filled up with zeros to `n` elements, where given.
struct AxisOptions {
  std::optional<std::int64_t> n = {};  ///< length of the transform; by default that of the axis
  std::int64_t axis = -1;              ///< along which it runs
  Norm norm = Norm::backward;          ///< which transform is divided by n
};

/// Along several axes, all without any named; `s` has a length for each of them, and names the last ones by itself.
struct AxesOptions {
  IntList s = {};              ///< lengths of the transform; by default those of the axes
  Axes axes = {};              ///< along which it runs
  Norm norm = Norm::backward;  ///< which transform is divided by n
};
/// Along the last two axes, or two others.
struct PlaneOptions {
  IntList s = {};              ///< lengths of the transform; by default those of the axes
  Axes axes = {-2, -1};        ///< along which it runs
  Norm norm = Norm::backward;  ///< which transform is divided by n
};

/// Complex to complex: element k is the sum of x_j e^(-2 pi i jk/n); `ifft` is its inverse.
template <class M>
Tensor<M> fft(const Tensor<M>& x, const AxisOptions& options = {});
template <class M>
Tensor<M> ifft(const Tensor<M>& x, const AxisOptions& options = {});
/// Real to the n/2 + 1 elements that are not conjugates of others, and back; `irfft` makes an even n without one given.
template <class M>
Tensor<M> rfft(const Tensor<M>& x, const AxisOptions& options = {});
template <class M>
Tensor<M> irfft(const Tensor<M>& x, const AxisOptions& options = {});
/// Transforms a signal with conjugate symmetry, given by its first half, to its real spectrum, and back.
template <class M>
Tensor<M> hfft(const Tensor<M>& x, const AxisOptions& options = {});
template <class M>
Tensor<M> ihfft(const Tensor<M>& x, const AxisOptions& options = {});
/// `fft`, `ifft`, `rfft` and `irfft` along two axes, then along several: along one after the other.
template <class M>
Tensor<M> fft2(const Tensor<M>& x, const PlaneOptions& options = {});
template <class M>
Tensor<M> ifft2(const Tensor<M>& x, const PlaneOptions& options = {});
template <class M>
Tensor<M> rfft2(const Tensor<M>& x, const PlaneOptions& options = {});
template <class M>
Tensor<M> irfft2(const Tensor<M>& x, const PlaneOptions& options = {});
template <class M>
Tensor<M> fftn(const Tensor<M>& x, const AxesOptions& options = {});
template <class M>
Tensor<M> ifftn(const Tensor<M>& x, const AxesOptions& options = {});
/// The last of the axes is the one of which half is left, and which `irfftn` makes whole again.
template <class M>
Tensor<M> rfftn(const Tensor<M>& x, const AxesOptions& options = {});
template <class M>
Tensor<M> irfftn(const Tensor<M>& x, const AxesOptions& options = {});

/// Frequency zero moved to the middle, and back: inverse to each other for odd lengths too.
template <class M>
Tensor<M> fftshift(const Tensor<M>& x, const Axes& axes = {});
template <class M>
Tensor<M> ifftshift(const Tensor<M>& x, const Axes& axes = {});
/// The frequencies of `fft` and of `rfft` of n samples `d` apart: `fftfreq<Tensor>(8)`, or `fftfreq<Eager>(8)`.
template <class M>
Tensor<M> fftfreq(std::int64_t n, double d = 1, DType dtype = DType::f32);
template <class M>
Tensor<M> rfftfreq(std::int64_t n, double d = 1, DType dtype = DType::f32);
template <class T>
requires requires { typename T::mode; }
T fftfreq(std::int64_t n, double d = 1, DType dtype = DType::f32) { return fftfreq<typename T::mode>(n, d, dtype); }
template <class T>
requires requires { typename T::mode; }
T rfftfreq(std::int64_t n, double d = 1, DType dtype = DType::f32) { return rfftfreq<typename T::mode>(n, d, dtype); }

/// The smallest length from n on that has no prime factor above 5, which transforms are fastest for.
std::int64_t next_fast_length(std::int64_t n);

/// The convolution along the axes, all without any named, by transforms: scipy.signal.fftconvolve. With
/// Overlap::same it is as large as the first operand.
template <class M>
Tensor<M> fftconvolve(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, Overlap overlap = Overlap::full,
                      const Axes& axes = {});

/// How a signal is cut into frames, as in torch.stft. `hop`: samples from one frame to the next, a quarter of the frame
/// when 0. A centred frame has its time in the middle, the signal being reflected at its ends.
struct FrameOptions {
  std::int64_t hop = 0;                     ///< samples between frames; 0: a quarter of a frame
  bool center = true;                       ///< whether frames are centred, the signal reflected at its ends
  bool normalized = false;                  ///< whether to divide by the root of the length of a frame
  bool onesided = true;                     ///< whether frequencies that are conjugates of others are left out
  std::optional<std::int64_t> length = {};  ///< of the signal that istft returns
};

/// Spectra of frames of n samples along the last axis: (..., frequency, frame). The window has n elements or fewer;
/// without one all samples count alike.
template <class M>
Tensor<M> stft(const Tensor<M>& x, std::int64_t n, const std::type_identity_t<Tensor<M>>& window = {},
               const FrameOptions& options = {});
/// The signal of which these are the spectra: overlapping frames added, divided by the sum of squared windows.
template <class M>
Tensor<M> istft(const Tensor<M>& x, std::int64_t n, const std::type_identity_t<Tensor<M>>& window = {},
                const FrameOptions& options = {});

}  // namespace TYTO_API
}  // namespace tyto
