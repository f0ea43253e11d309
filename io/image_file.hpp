// SPDX-License-Identifier: MIT
// Decoders of picture files, each to an array (height, width, channels) of bytes.
#pragma once

#include <span>
#include <string>

#include "tyto/images.hpp"

namespace tyto::io {

/// Throws IoError when a picture of this size is larger than allowed.
void check_size(const std::string& file, std::int64_t height, std::int64_t width, std::int64_t largest);

HostArray read_png(const std::string& file, std::span<const std::byte> bytes, std::int64_t largest);
HostArray read_jpeg(const std::string& file, std::span<const std::byte> bytes, std::int64_t largest);
/// By what the bytes begin with.
HostArray read_image(const std::string& file, std::span<const std::byte> bytes, const ImageOptions& options);

}  // namespace tyto::io
