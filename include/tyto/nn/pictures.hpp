// SPDX-License-Identifier: MIT
// Pictures with class labels as samples of batches, changed by transforms on their way.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tyto/images.hpp"
#include "tyto/nn/samples.hpp"
#include "tyto/nn/transforms.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Batches of f32 (count, height, width, channels), all of one size after the transforms, and labels of i64.
///
///     nn::Batches<Tensor> batches(nn::Pictures(images, labels, {nn::random_crop(32, 4), nn::random_flip()}),
///                                 {.size = 128, .ahead = 2});
class TYTO_API Pictures final : public Samples {
 public:
  /// Images (count, height, width, channels) of u8, which become numbers from 0 to 1; labels (count,) of any integer.
  Pictures(const Tensor<Any>& images, const Tensor<Any>& labels, std::vector<PictureTransform> transforms = {});
  template <class M>
  Pictures(const Tensor<M>& images, const Tensor<M>& labels, std::vector<PictureTransform> transforms = {})
      : Pictures(Tensor<Any>(images.value()), Tensor<Any>(labels.value()), std::move(transforms)) {}

  /// Files, each decoded when it is due, as pictures of three channels.
  explicit Pictures(const ImageFolder& folder, std::vector<PictureTransform> transforms = {});

  std::int64_t count() const override { return static_cast<std::int64_t>(labels_.size()); }
  HostBatch read(std::span<const std::int64_t> samples, const Key& key) const override;

 private:
  std::function<Picture(std::int64_t sample)> picture_;
  std::vector<std::int64_t> labels_;
  std::vector<PictureTransform> transforms_;
};

}  // namespace TYTO_API
}  // namespace tyto
