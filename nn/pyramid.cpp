// SPDX-License-Identifier: MIT
// Feature pyramids: from the coarsest map to the finest, each level added to what its map gives.
#include "tyto/nn/pyramid.hpp"

#include "nn/box_parts.hpp"
#include "nn/layer_parts.hpp"
#include "tyto/indexing.hpp"
#include "tyto/windows.hpp"

namespace tyto TYTO_API {
namespace nn {

FeaturePyramid::FeaturePyramid(const FeaturePyramidOptions& o) : coarser(o.coarser) {
  if (o.in.empty()) throw ValueError("FeaturePyramid: no maps; in tells the channels of each");
  if (coarser < 0) core::throw_error<ValueError>("FeaturePyramid: coarser = ", coarser, " is negative");
  for (const std::int64_t in : o.in) {
    check_sizes("FeaturePyramid", in, o.out);
    inner_blocks.push_back(Conv2d({.in = in, .out = o.out, .window = 1, .initial = o.initial, .dtype = o.dtype}));
    layer_blocks.push_back(Conv2d({.in = o.out, .out = o.out, .padding = 1, .initial = o.initial, .dtype = o.dtype}));
  }
}

Members FeaturePyramid::members() const { return {{"inner_blocks", inner_blocks}, {"layer_blocks", layer_blocks}}; }

std::vector<Tensor<Any>> FeaturePyramid::levels_of(const std::vector<Tensor<Any>>& maps) const {
  if (maps.size() != inner_blocks.size()) {
    core::throw_error<ShapeError>("FeaturePyramid: ", maps.size(), " maps are given; it has ", inner_blocks.size(),
                                  " levels");
  }
  std::vector<Tensor<Any>> levels(maps.size());
  Tensor<Any> above;
  for (std::size_t level = maps.size(); level-- > 0;) {
    Tensor<Any> own = inner_blocks[level](maps[level]);
    if (above.defined()) {
      const std::int64_t height = own.shape()[1], width = own.shape()[2];
      if (above.shape()[1] != (height + 1) / 2 || above.shape()[2] != (width + 1) / 2) {
        core::throw_error<ShapeError>("FeaturePyramid: maps ", maps[level].shape(), " and ", maps[level + 1].shape(),
                                      " are not each half as high and wide as the one before");
      }
      own = own + upsample(above, 2)(all, slice(0, height), slice(0, width));
    }
    levels[level] = layer_blocks[level](own);
    above = own;
  }
  for (std::int64_t i = 0; i < coarser; ++i) {
    levels.push_back(levels.back()(all, slice(0, {}, 2), slice(0, {}, 2)));
  }
  return levels;
}

namespace detail {

Tensor<Any> pyramid_levels(const Tensor<Any>& boxes, const PyramidLevelOptions& o) {
  check_boxes("pyramid_levels", boxes, 1);
  if (o.levels < 1 || !(o.canonical_size > 0)) {
    core::throw_error<ValueError>("pyramid_levels: ", o.levels, " levels and the size ", o.canonical_size,
                                  " must be above 0");
  }
  if (size_of(boxes.dtype()) == 2) return pyramid_levels(cast(boxes, DType::f32), o);
  const Tensor<Any> area = (boxes(ellipsis, 2) - boxes(ellipsis, 0)) * (boxes(ellipsis, 3) - boxes(ellipsis, 1));
  // The addend makes up for rounding below a power of two, as in torchvision.
  const Tensor<Any> level = floor(o.canonical_level + 1e-6 + log2(sqrt(maximum(area, 1e-12)) / o.canonical_size));
  return cast(minimum(maximum(level, 0.0), static_cast<double>(o.levels - 1)), DType::i64);
}

}  // namespace detail
}  // namespace nn
}  // namespace TYTO_API
