// SPDX-License-Identifier: MIT
// Decoders of picture files to arrays (height, width, channels) of bytes, and encoders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "tyto/images.hpp"

namespace tyto::io {

/// Throws IoError when a picture of this size is larger than allowed.
void check_size(const std::string& file, std::int64_t height, std::int64_t width, std::int64_t largest);

HostArray read_png(const std::string& file, std::span<const std::byte> bytes, std::int64_t largest);
HostArray read_jpeg(const std::string& file, std::span<const std::byte> bytes, std::int64_t largest);
/// The rows to write, with interleaved channels. Throws ShapeError, TypeError or ValueError in the name of `function`
/// when the array is no picture that the format can hold.
struct PictureRows {
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  int channels = 0;
  const unsigned char* bytes = nullptr;

  const unsigned char* row(std::uint32_t i) const { return bytes + std::size_t{i} * row_size(); }
  std::size_t row_size() const { return std::size_t{width} * static_cast<std::size_t>(channels); }
};
PictureRows picture_rows(const char* function, const HostArrayView& array, std::initializer_list<int> channels,
                         std::int64_t longest_side);

void write_png(const std::string& path, const PictureRows& picture);
void write_jpeg(const std::string& path, const PictureRows& picture, int quality);

/// Decodes an image, whose format is recognised by its first bytes.
HostArray read_image(const std::string& file, std::span<const std::byte> bytes, const ImageOptions& options);

}  // namespace tyto::io
