// SPDX-License-Identifier: MIT
// Unfold and fold, which extract windows and add them up again, and pooling that also returns where the maxima are.
#pragma once

#include <utility>

#include "tyto/nn/layer.hpp"
#include "tyto/windows.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Options of Unfold and Fold.
struct PatchOptions {
  PerAxis stride = 1;       ///< steps between windows along each spatial axis
  Padding padding = valid;  ///< zeros around the spatial axes
  PerAxis dilation = 1;     ///< steps between the elements of a window
  /// Elements of a patch: channels fastest, or, as what follows PyTorch's Unfold expects, the window fastest (nchw).
  Layout order = nhwc;
};

/// The windows of x (batch, spatial..., channels) as rows: (batch, places, window * channels), the places in row-major
/// order.
///
///     auto patches = nn::Unfold(3, {.padding = 1})(images);  // (n, h * w, 9 * c)
struct TYTO_API Unfold : Layer {
  PerAxis window;        ///< lengths of the window
  PatchOptions options;  ///< as given

  explicit Unfold(PerAxis size, PatchOptions given = {}) : window(std::move(size)), options(std::move(given)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// The transpose of Unfold: patches are added up where they lie in space of the lengths `size`.
struct TYTO_API Fold : Layer {
  Shape size;            ///< lengths of the spatial axes of the result
  PerAxis window;        ///< lengths of the window
  PatchOptions options;  ///< as given

  Fold(Shape lengths, PerAxis patch, PatchOptions given = {})
      : size(std::move(lengths)), window(std::move(patch)), options(std::move(given)) {}
  Tensor<Any> forward(const Tensor<Any>& patches, Phase phase) const override;
};

/// Largest elements of windows, and their numbers: where each was found, counted in row-major order over the space of
/// its sample and channel.
template <class M>
struct MaxPooled {
  Tensor<M> values;   ///< largest elements
  Tensor<M> indices;  ///< where they stood
};

/// Options of `max_unpool`.
struct UnpoolOptions {
  PerAxis stride = {};  ///< as the window when left out
  PerAxis padding = 0;  ///< before and after each spatial axis
  Shape size = {};      ///< lengths of the result's space; those of the smallest space that has such windows when empty
};

namespace detail {
MaxPooled<Any> max_pool_with_indices(const Tensor<Any>& x, const PerAxis& window, const PoolOptions& options);
Tensor<Any> max_unpool(const Tensor<Any>& values, const Tensor<Any>& indices, const PerAxis& window,
                       const UnpoolOptions& options);
}  // namespace detail

/// max_pool of x (batch, spatial..., channels) with where the largest elements were found, for max_unpool.
template <class M>
MaxPooled<M> max_pool_with_indices(const Tensor<M>& x, const PerAxis& window, const PoolOptions& options = {}) {
  const MaxPooled<Any> pooled = detail::max_pool_with_indices(detail::modeless(x), window, options);
  return {detail::with_mode<M>(pooled.values), detail::with_mode<M>(pooled.indices)};
}
/// Each value put back to where max_pool_with_indices found it, zeros elsewhere: PyTorch's MaxUnpool1d, 2d and 3d.
///
///     auto [values, indices] = nn::max_pool_with_indices(x, 2);
///     auto back = nn::max_unpool(values, indices, 2);
template <class M>
Tensor<M> max_unpool(const Tensor<M>& values, const std::type_identity_t<Tensor<M>>& indices, const PerAxis& window,
                     const UnpoolOptions& options = {}) {
  return detail::with_mode<M>(detail::max_unpool(detail::modeless(values), detail::modeless(indices), window, options));
}

}  // namespace TYTO_API
}  // namespace tyto
