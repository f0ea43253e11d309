// SPDX-License-Identifier: MIT
// Transforms of pictures; each draws all its numbers whatever the picture is, so that one never shifts another's.
#include "tyto/nn/transforms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/value/hash.hpp"
#include "core/value/text.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

struct Extent {
  std::int64_t height;
  std::int64_t width;
};

Extent extent_of(const char* name, const PerAxis& size) {
  if (size.empty() || size.size() > 2 || *std::min_element(size.begin(), size.end()) < 1) {
    core::throw_error<ValueError>(name, ": the size ", size, " must be one number or two, at least 1");
  }
  return {size[0], size[size.size() - 1]};
}

void keep_part(Picture& picture, std::int64_t top, std::int64_t left, const Extent& size) {
  Picture part{size.height, size.width, picture.channels, {}};
  part.values.reserve(static_cast<std::size_t>(size.height * size.width * picture.channels));
  for (std::int64_t row = 0; row < size.height; ++row) {
    const float* first = picture.pixel(top + row, left);
    part.values.insert(part.values.end(), first, first + size.width * picture.channels);
  }
  picture = std::move(part);
}

void surround(Picture& picture, std::int64_t border) {
  Picture wide{picture.height + 2 * border, picture.width + 2 * border, picture.channels, {}};
  wide.values.resize(static_cast<std::size_t>(wide.height * wide.width * wide.channels));
  for (std::int64_t row = 0; row < picture.height; ++row) {
    std::copy_n(picture.pixel(row, 0), picture.width * picture.channels, wide.pixel(row + border, border));
  }
  picture = std::move(wide);
}

void check_fits(const char* name, const Picture& picture, const Extent& size) {
  if (picture.height >= size.height && picture.width >= size.width) return;
  core::throw_error<ShapeError>(name, ": a picture of ", picture.height, " x ", picture.width, " has no part of ",
                                size.height, " x ", size.width);
}

/// The pixels that one result of a resized line sums: `weights` of those from `first` on.
struct Contribution {
  std::int64_t first;
  std::vector<float> weights;
};

/// Linear interpolation between pixel centres; where the line gets shorter, its triangle is as wide as one result.
std::vector<Contribution> contributions(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(scale, 1.0);
  std::vector<Contribution> list;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(centre - reach + 0.5), 0);
    const auto last = std::min<std::int64_t>(static_cast<std::int64_t>(centre + reach + 0.5), from);
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t k = first; k < last; ++k) {
      weights.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(k) + 0.5 - centre) / reach)));
      total += weights.back();
    }
    Contribution each{first, {}};
    for (const double weight : weights) each.weights.push_back(static_cast<float>(weight / total));
    list.push_back(std::move(each));
  }
  return list;
}

void resize_width(Picture& picture, std::int64_t width) {
  const std::vector<Contribution> columns = contributions(picture.width, width);
  Picture out{picture.height, width, picture.channels, {}};
  out.values.resize(static_cast<std::size_t>(out.height * out.width * out.channels));
  for (std::int64_t row = 0; row < out.height; ++row) {
    for (std::int64_t column = 0; column < width; ++column) {
      const Contribution& from = columns[static_cast<std::size_t>(column)];
      const float* in = picture.pixel(row, from.first);
      float* result = out.pixel(row, column);
      for (const float weight : from.weights) {
        for (std::int64_t channel = 0; channel < out.channels; ++channel) result[channel] += weight * *in++;
      }
    }
  }
  picture = std::move(out);
}

void resize_height(Picture& picture, std::int64_t height) {
  const std::vector<Contribution> rows = contributions(picture.height, height);
  Picture out{height, picture.width, picture.channels, {}};
  out.values.resize(static_cast<std::size_t>(out.height * out.width * out.channels));
  for (std::int64_t row = 0; row < height; ++row) {
    const Contribution& from = rows[static_cast<std::size_t>(row)];
    float* result = out.pixel(row, 0);
    for (std::size_t k = 0; k < from.weights.size(); ++k) {
      const float* in = picture.pixel(from.first + static_cast<std::int64_t>(k), 0);
      for (std::int64_t i = 0; i < out.width * out.channels; ++i) result[i] += from.weights[k] * in[i];
    }
  }
  picture = std::move(out);
}

/// The brightness that the eye sees in a pixel (ITU-R 601).
float grey_of(const float* pixel, std::int64_t channels) {
  return channels == 1 ? pixel[0] : 0.299F * pixel[0] + 0.587F * pixel[1] + 0.114F * pixel[2];
}

/// factor * value + (1 - factor) * other, within [0, 1].
float blend(float value, float other, float factor) {
  return std::clamp(factor * value + (1 - factor) * other, 0.0F, 1.0F);
}

void scale_brightness(Picture& picture, float factor) {
  for (float& value : picture.values) value = blend(value, 0, factor);
}

void scale_contrast(Picture& picture, float factor) {
  double total = 0;
  for (std::size_t i = 0; i < picture.values.size(); i += static_cast<std::size_t>(picture.channels)) {
    total += static_cast<double>(grey_of(&picture.values[i], picture.channels));
  }
  const auto mean = static_cast<float>(total / static_cast<double>(picture.height * picture.width));
  for (float& value : picture.values) value = blend(value, mean, factor);
}

void scale_saturation(Picture& picture, float factor) {
  for (std::size_t i = 0; i < picture.values.size(); i += static_cast<std::size_t>(picture.channels)) {
    float* pixel = &picture.values[i];
    const float grey = grey_of(pixel, picture.channels);
    for (std::int64_t channel = 0; channel < picture.channels; ++channel) {
      pixel[channel] = blend(pixel[channel], grey, factor);
    }
  }
}

}  // namespace

Draws::Draws(const Key& key) : state_(key.split(0).seed) {}

double Draws::uniform(double low, double high) {
  const std::uint64_t bits = core::splitmix64(state_);  // enough for a few draws a picture
  state_ += core::splitmix_step;
  return low + (high - low) * static_cast<double>(bits >> 11) * 0x1p-53;
}

std::int64_t Draws::below(std::int64_t limit) {
  return static_cast<std::int64_t>(uniform() * static_cast<double>(limit));
}

PictureTransform random_crop(const PerAxis& size, std::int64_t padding) {
  const Extent part = extent_of("random_crop", size);
  if (padding < 0) core::throw_error<ValueError>("random_crop: the padding ", padding, " must be at least 0");
  return [part, padding](Picture& picture, Draws& draws) {
    if (padding > 0) surround(picture, padding);
    check_fits("random_crop", picture, part);
    const std::int64_t top = draws.below(picture.height - part.height + 1);
    const std::int64_t left = draws.below(picture.width - part.width + 1);
    keep_part(picture, top, left, part);
  };
}

PictureTransform centre_crop(const PerAxis& size) {
  const Extent part = extent_of("centre_crop", size);
  return [part](Picture& picture, Draws&) {
    check_fits("centre_crop", picture, part);
    keep_part(picture, (picture.height - part.height) / 2, (picture.width - part.width) / 2, part);
  };
}

PictureTransform random_flip(double probability) {
  if (!(probability >= 0 && probability <= 1)) {
    core::throw_error<ValueError>("random_flip: the probability ", probability, " must be in [0, 1]");
  }
  return [probability](Picture& picture, Draws& draws) {
    if (!draws.chance(probability)) return;
    for (std::int64_t row = 0; row < picture.height; ++row) {
      for (std::int64_t left = 0, right = picture.width - 1; left < right; ++left, --right) {
        std::swap_ranges(picture.pixel(row, left), picture.pixel(row, left) + picture.channels,
                         picture.pixel(row, right));
      }
    }
  };
}

PictureTransform resize(const PerAxis& size) {
  const Extent target = extent_of("resize", size);
  const bool shorter_side = size.size() == 1;
  return [target, shorter_side](Picture& picture, Draws&) {
    Extent to = target;
    if (shorter_side && picture.height < picture.width) to.width = target.height * picture.width / picture.height;
    else if (shorter_side) to.height = target.width * picture.height / picture.width;
    if (to.width != picture.width) resize_width(picture, to.width);
    if (to.height != picture.height) resize_height(picture, to.height);
  };
}

PictureTransform normalise(std::vector<float> mean, std::vector<float> deviation) {
  if (mean.empty() || mean.size() != deviation.size()) {
    core::throw_error<ValueError>("normalise: ", mean.size(), " means and ", deviation.size(),
                                  " deviations; as many of each, one or one a channel, are needed");
  }
  if (!std::all_of(deviation.begin(), deviation.end(), [](float each) { return each > 0; })) {
    throw ValueError("normalise: deviations must be above 0");
  }
  return [mean = std::move(mean), deviation = std::move(deviation)](Picture& picture, Draws&) {
    const auto channels = static_cast<std::size_t>(picture.channels);
    if (mean.size() != 1 && mean.size() != channels) {
      core::throw_error<ShapeError>("normalise: ", mean.size(), " means for a picture of ", channels, " channels");
    }
    const std::size_t step = mean.size() == 1 ? 0 : 1;
    for (auto value = picture.values.begin(); value != picture.values.end();) {
      for (std::size_t channel = 0; channel < channels; ++channel, ++value) {
        *value = (*value - mean[channel * step]) / deviation[channel * step];
      }
    }
  };
}

PictureTransform colour_jitter(const ColourJitterOptions& options) {
  for (const double amount : {options.brightness, options.contrast, options.saturation}) {
    if (!(amount >= 0)) core::throw_error<ValueError>("colour_jitter: the amount ", amount, " must be at least 0");
  }
  return [options](Picture& picture, Draws& draws) {
    if (picture.channels != 1 && picture.channels != 3) {
      core::throw_error<ShapeError>("colour_jitter: a picture of ", picture.channels, " channels; it must have 1 or 3");
    }
    struct Change {
      void (*apply)(Picture&, float);
      double amount;
    };
    std::array<Change, 3> changes{{{scale_brightness, options.brightness},
                                   {scale_contrast, options.contrast},
                                   {scale_saturation, options.saturation}}};
    for (std::int64_t i = 2; i > 0; --i) {
      std::swap(changes[static_cast<std::size_t>(i)], changes[static_cast<std::size_t>(draws.below(i + 1))]);
    }
    for (const Change& change : changes) {
      const double factor = draws.uniform(std::max(0.0, 1 - change.amount), 1 + change.amount);
      if (change.amount > 0) change.apply(picture, static_cast<float>(factor));
    }
  };
}

}  // namespace nn
}  // namespace TYTO_API
