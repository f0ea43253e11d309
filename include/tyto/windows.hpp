// SPDX-License-Identifier: MIT
// Convolution, pooling and resizing over the spatial axes of (batch, spatial..., channels) tensors.
#pragma once

#include <cstdint>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Zeros around the spatial axes: `valid` adds none, `same` as many as make ceil(size / stride) results, numbers add
/// exactly so many.
class Padding {
 public:
  /// The kind of padding.
  enum class Kind : std::uint8_t { valid, same, explicit_counts };
  Padding(Kind kind = Kind::valid) : kind_(kind) {}
  /// The same count before and after every spatial axis.
  Padding(int count) : kind_(Kind::explicit_counts), before_{count}, after_{count} {}
  /// Counts before and after each spatial axis.
  Padding(IntList before, IntList after)
      : kind_(Kind::explicit_counts), before_(std::move(before)), after_(std::move(after)) {}

  /// The kind, and explicit counts before and after each spatial axis.
  Kind kind() const { return kind_; }
  const IntList& before() const { return before_; }
  const IntList& after() const { return after_; }

 private:
  Kind kind_;
  IntList before_;
  IntList after_;
};
inline constexpr Padding::Kind same = Padding::Kind::same;
inline constexpr Padding::Kind valid = Padding::Kind::valid;

/// Order of axes: channels last (NHWC with kernels HWIO), or channels first (NCHW with kernels OIHW).
enum class Layout : std::uint8_t { nhwc, nchw };
inline constexpr Layout nhwc = Layout::nhwc;
inline constexpr Layout nchw = Layout::nchw;

/// One number for all spatial axes, or one each.
class PerAxis : public IntList {
 public:
  PerAxis() = default;
  PerAxis(int one) : IntList{one} {}
  PerAxis(std::initializer_list<std::int64_t> each) : IntList(each) {}
  PerAxis(const IntList& each) : IntList(each) {}
};

/// Options of `convolution`.
struct ConvolutionOptions {
  PerAxis stride = 1;       ///< steps between windows along each spatial axis
  Padding padding = valid;  ///< zeros around the spatial axes
  PerAxis dilation = 1;     ///< steps between the elements of a window
  std::int64_t groups = 1;  ///< parts of the channels that do not mix
  Layout layout = nhwc;     ///< order of axes
};
/// Options of `transposed_convolution`.
struct TransposedConvolutionOptions {
  PerAxis stride = 1;          ///< steps between windows along each spatial axis
  Padding padding = valid;     ///< zeros around the spatial axes
  PerAxis dilation = 1;        ///< steps between the elements of a window
  PerAxis output_padding = 0;  ///< added to the end of the spatial axes of the result
  std::int64_t groups = 1;     ///< parts of the channels that do not mix
  Layout layout = nhwc;        ///< order of axes
};
/// Options of `max_pool`.
struct PoolOptions {
  PerAxis stride = {};         ///< as the window when left out
  Padding padding = valid;     ///< zeros around the spatial axes
  PerAxis dilation = 1;        ///< steps between the elements of a window
  bool count_padding = false;  ///< whether averages count the padding
  bool ceil_mode = false;      ///< whether a last window may reach beyond the end; what is there counts for nothing
  Layout layout = nhwc;        ///< order of axes
};

/// x (batch, spatial..., in) with kernels w (window..., in / groups, out): 1, 2 or 3 spatial axes by x's rank.
template <class M>
Tensor<M> convolution(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w,
                      const ConvolutionOptions& options = {});
template <class M>
Tensor<M> conv1d(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w, const ConvolutionOptions& options = {});
template <class M>
Tensor<M> conv2d(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w, const ConvolutionOptions& options = {});
template <class M>
Tensor<M> conv3d(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w, const ConvolutionOptions& options = {});
/// The transpose of a convolution: x (batch, spatial..., in) with kernels w (window..., out / groups, in).
template <class M>
Tensor<M> transposed_convolution(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& w,
                                 const TransposedConvolutionOptions& options = {});

/// Largest element of each window; `window` has a length for each spatial axis, or one for all.
template <class M>
Tensor<M> max_pool(const Tensor<M>& x, const PerAxis& window, const PoolOptions& options = {});
/// Mean of each window.
template <class M>
Tensor<M> average_pool(const Tensor<M>& x, const PerAxis& window, const PoolOptions& options = {});
/// Mean over all spatial axes, which stay with length one when `keepdims`.
template <class M>
Tensor<M> global_average_pool(const Tensor<M>& x, KeepDims keepdims = false, Layout layout = nhwc);

/// Mean over windows that share each spatial axis out between `size` results, overlapping where they do not divide it:
/// result i covers [floor(i n / size), ceil((i + 1) n / size)).
template <class M>
Tensor<M> adaptive_average_pool(const Tensor<M>& x, const PerAxis& size, Layout layout = nhwc);

/// How `upsample` fills new elements.
enum class Resampling : std::uint8_t { nearest, bilinear };
/// Spatial axes made `scale` times longer; `bilinear` (2 spatial axes) takes centres of elements to centres.
template <class M>
Tensor<M> upsample(const Tensor<M>& x, const PerAxis& scale, Resampling how = Resampling::nearest,
                   Layout layout = nhwc);

}  // namespace TYTO_API
