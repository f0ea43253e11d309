// SPDX-License-Identifier: MIT
// Feature pyramids, which add coarser maps of features to finer ones, and the level that each box belongs to.
#pragma once

#include <vector>

#include "tyto/nn/convolution.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Options of `FeaturePyramid`.
struct FeaturePyramidOptions {
  std::vector<std::int64_t> in;      ///< channels of the maps, the finest first
  std::int64_t out = 256;            ///< channels of each level
  std::int64_t coarser = 0;          ///< levels behind the last map: every other place of the one before
  Initialiser initial = he_uniform;  ///< of weights
  DType dtype = DType::f32;          ///< of weights
};
/// The feature pyramid network of Lin et al. (2017): maps (batch, height, width, channels), each half as high and wide
/// (rounded up) as the one before, to levels of the same sizes.
///
///     const nn::FeaturePyramid pyramid({.in = {64, 128}, .out = 32, .coarser = 1});
///     const std::vector<Tensor> levels = pyramid(std::vector{Tensor::ones({1, 8, 8, 64}), Tensor::ones({1, 4, 4, 128})});
struct TYTO_API FeaturePyramid : Module {
  std::vector<Conv2d> inner_blocks;  ///< of a window of 1: what a map gives to its level
  std::vector<Conv2d> layer_blocks;  ///< of a window of 3, over the sum with the coarser level
  std::int64_t coarser;              ///< as given

  explicit FeaturePyramid(const FeaturePyramidOptions& options);
  Members members() const override;

  template <class M>
  std::vector<Tensor<M>> operator()(const std::vector<Tensor<M>>& maps) const {
    std::vector<Tensor<Any>> given;
    for (const Tensor<M>& map : maps) given.push_back(detail::modeless(map));
    std::vector<Tensor<M>> levels;
    for (const Tensor<Any>& level : levels_of(given)) levels.push_back(detail::with_mode<M>(level));
    return levels;
  }

 private:
  std::vector<Tensor<Any>> levels_of(const std::vector<Tensor<Any>>& maps) const;
};

/// Options of `pyramid_levels`.
struct PyramidLevelOptions {
  std::int64_t levels = 4;      ///< how many there are
  double canonical_size = 224;  ///< the side of squares that belong to `canonical_level`
  double canonical_level = 2;   ///< from 0, the finest, on
};

namespace detail {
Tensor<Any> pyramid_levels(const Tensor<Any>& boxes, const PyramidLevelOptions& options);
}

/// The level that each box (..., 4) belongs to by its area, i64: another one for twice the side.
template <class M>
Tensor<M> pyramid_levels(const Tensor<M>& boxes, const PyramidLevelOptions& options = {}) {
  return detail::with_mode<M>(detail::pyramid_levels(detail::modeless(boxes), options));
}

}  // namespace TYTO_API
}  // namespace tyto
