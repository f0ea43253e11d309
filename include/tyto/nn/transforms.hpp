// SPDX-License-Identifier: MIT
// Transforms of pictures on the way into a batch: crop, flip, resize, normalise, vary the colours.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tyto/tensor.hpp"
#include "tyto/windows.hpp"

namespace tyto {
namespace nn TYTO_API {

/// A picture in host memory: rows of pixels, each of `channels` numbers, 0 to 1 where they come from bytes.
struct TYTO_API Picture {
  std::int64_t height = 0;    ///< rows
  std::int64_t width = 0;     ///< columns
  std::int64_t channels = 0;  ///< numbers of a pixel
  std::vector<float> values;  ///< row by row, the channels of a pixel together

  /// The channels of a pixel.
  float* pixel(std::int64_t row, std::int64_t column) {
    return values.data() + static_cast<std::size_t>((row * width + column) * channels);
  }
  const float* pixel(std::int64_t row, std::int64_t column) const {
    return values.data() + static_cast<std::size_t>((row * width + column) * channels);
  }
};

/// The random numbers of one sample in one epoch: the same on every machine, and whatever other samples draw.
class TYTO_API Draws {
 public:
  explicit Draws(const Key& key);
  /// In [low, high).
  double uniform(double low = 0, double high = 1);
  /// An integer in [0, limit).
  std::int64_t below(std::int64_t limit);
  /// True with this probability.
  bool chance(double probability) { return uniform() < probability; }

 private:
  std::uint64_t state_;
};

/// Changes a picture in its place. Those of one data set are applied one after the other.
using PictureTransform = std::function<void(Picture& picture, Draws& draws)>;

/// A part of this size (one number, or height and width) from a random place, after `padding` zeros on all sides.
PictureTransform random_crop(const PerAxis& size, std::int64_t padding = 0);
/// The part of this size in the middle.
PictureTransform centre_crop(const PerAxis& size);
/// Left and right exchanged with this probability.
PictureTransform random_flip(double probability = 0.5);
/// The whole picture in another size: height and width, or the length of its shorter side. Bilinear; where it gets
/// smaller, over all pixels that fall on one, as Pillow and torchvision do.
PictureTransform resize(const PerAxis& size);
/// Each channel minus its mean, divided by its deviation; one number applies to all channels.
PictureTransform normalise(std::vector<float> mean, std::vector<float> deviation);

/// By how much each may vary: factors are drawn from 1 - amount to 1 + amount, but not below 0.
struct ColourJitterOptions {
  double brightness = 0;  ///< times the picture
  double contrast = 0;    ///< away from, or towards, its mean grey
  double saturation = 0;  ///< away from, or towards, each pixel's grey
};
/// Colours varied at random, in an order drawn each time, clipped to [0, 1]. Pictures of three channels, or of one,
/// which has no saturation.
PictureTransform colour_jitter(const ColourJitterOptions& options);

}  // namespace TYTO_API
}  // namespace tyto
