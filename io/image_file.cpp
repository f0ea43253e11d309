// SPDX-License-Identifier: MIT
// Detects the format of picture files, converts their channels to those asked for, and lists folders of them.
#include "io/image_file.hpp"
#include "core/value/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "io/byte_source.hpp"
#include "io/refuse.hpp"

namespace tyto::io {

namespace {

constexpr std::byte opaque{255};

/// ITU-R 601, in 16 bits as Pillow has it.
std::byte grey_of(const std::byte* colours) {
  const auto part = [&](int i) { return std::to_integer<std::uint32_t>(colours[i]); };
  return static_cast<std::byte>((part(0) * 19595 + part(1) * 38470 + part(2) * 7471 + 0x8000) >> 16);
}

/// Each pixel turned from as many channels as the picture has into `wanted`.
HostArray with_channels(const std::string& file, HostArray picture, int wanted) {
  const auto from = static_cast<std::size_t>(picture.shape[2]);
  const auto to = static_cast<std::size_t>(wanted);
  if (wanted == 0 || from == to) return picture;
  const bool from_colour = from >= 3, to_colour = to >= 3;
  HostArray out{DType::u8, {picture.shape[0], picture.shape[1], wanted}, {}};
  const std::size_t size = picture.bytes.size() / from * to;
  within_memory(file, "the picture", size, [&] { out.bytes.resize(size); });
  const std::byte* in = picture.bytes.data();
  std::byte* result = out.bytes.data();
  for (std::size_t pixel = out.bytes.size() / to; pixel > 0; --pixel, in += from, result += to) {
    if (to_colour) {
      for (std::size_t i = 0; i < 3; ++i) result[i] = in[from_colour ? i : 0];
    } else {
      result[0] = from_colour ? grey_of(in) : in[0];
    }
    if (to == 4) result[3] = from % 2 == 0 ? in[from - 1] : opaque;
  }
  return out;
}

bool begins_with(std::span<const std::byte> bytes, std::initializer_list<int> mark) {
  return bytes.size() >= mark.size() &&
         std::equal(mark.begin(), mark.end(), bytes.begin(),
                    [](int expected, std::byte found) { return expected == std::to_integer<int>(found); });
}

bool is_picture_name(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  for (char& letter : ending) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

/// The entries of a folder, sorted by name.
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> entries;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    entries.push_back(each->path());
  }
  if (error) refuse(folder.string(), "cannot be listed: ", error.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace

void check_size(const std::string& file, std::int64_t height, std::int64_t width, std::int64_t largest) {
  if (height < 1 || width < 1 || height > largest / width) {
    refuse(file, "is a picture of ", height, " x ", width, " pixels; 1 to ", largest, " are allowed");
  }
}

PictureRows picture_rows(const char* function, const HostArrayView& array, std::initializer_list<int> channels,
                         std::int64_t longest_side) {
  if (array.dtype != DType::u8) {
    core::throw_error<TypeError>(function, ": the picture must be u8, not ", array.dtype,
                                 "; of x from 0 to 1 it is cast(round(x * 255), DType::u8)");
  }
  const Shape& shape = array.shape;
  const std::int64_t last = shape.size() == 2 ? 1 : shape.size() == 3 ? shape[2] : 0;
  if (std::find(channels.begin(), channels.end(), last) == channels.end()) {
    std::string allowed;
    for (const int& count : channels) {
      const bool is_last = &count == channels.end() - 1;
      allowed += (allowed.empty() ? "" : is_last ? " or " : ", ") + std::to_string(count);
    }
    core::throw_error<ShapeError>(function, ": the picture must be (height, width) or (height, width, channels) with ",
                                  allowed, " channels, not of shape ", shape);
  }
  if (std::min(shape[0], shape[1]) < 1 || std::max(shape[0], shape[1]) > longest_side) {
    core::throw_error<ShapeError>(function, ": height and width of the picture must be 1 to ", longest_side,
                                  ", not those of shape ", shape);
  }
  return {static_cast<std::uint32_t>(shape[0]), static_cast<std::uint32_t>(shape[1]), static_cast<int>(last),
          reinterpret_cast<const unsigned char*>(array.bytes.data())};
}

HostArray read_image(const std::string& file, std::span<const std::byte> bytes, const ImageOptions& options) {
  constexpr std::array allowed{0, 1, 3, 4};
  if (std::find(allowed.begin(), allowed.end(), options.channels) == allowed.end()) {
    core::throw_error<ValueError>("read_image: channels = ", options.channels, " must be 0, 1, 3 or 4");
  }
  if (begins_with(bytes, {0x89, 'P', 'N', 'G'})) {
    return with_channels(file, read_png(file, bytes, options.largest), options.channels);
  }
  if (begins_with(bytes, {0xff, 0xd8})) {
    return with_channels(file, read_jpeg(file, bytes, options.largest), options.channels);
  }
  refuse(file, "is neither a PNG nor a JPEG file");
}

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

HostArray read_image_file(const std::string& path, const ImageOptions& options) {
  const io::FileSource source(path);
  std::vector<std::byte> bytes = io::within_memory(
      path, "the file", source.size(), [&] { return std::vector<std::byte>(static_cast<std::size_t>(source.size())); });
  source.read(0, bytes, "the file");
  return io::read_image(path, bytes, options);
}

void write_png_file(const std::string& path, const HostArrayView& picture) {
  constexpr std::int64_t longest_side = 1'000'000;  // that libpng reads unless told otherwise
  io::write_png(path, io::picture_rows("write_png", picture, {1, 2, 3, 4}, longest_side));
}

void write_jpeg_file(const std::string& path, const HostArrayView& picture, const JpegOptions& options) {
  constexpr std::int64_t longest_side = 65500;  // JPEG_MAX_DIMENSION
  const io::PictureRows rows = io::picture_rows("write_jpeg", picture, {1, 3}, longest_side);
  if (options.quality < 1 || options.quality > 100) {
    core::throw_error<ValueError>("write_jpeg: quality = ", options.quality, " must be 1 to 100");
  }
  io::write_jpeg(path, rows, options.quality);
}

}  // namespace detail

ImageFolder list_image_folder(const std::string& path) {
  ImageFolder found;
  for (const std::filesystem::path& folder : io::sorted_entries(path)) {
    std::error_code error;
    const bool is_folder = std::filesystem::is_directory(folder, error);
    if (error) io::refuse(folder.string(), "cannot be looked at: ", error.message());
    if (!is_folder) continue;
    const auto label = static_cast<std::int64_t>(found.classes.size());
    const std::size_t before = found.paths.size();
    for (const std::filesystem::path& file : io::sorted_entries(folder)) {
      if (io::is_picture_name(file)) found.paths.push_back(file.string());
    }
    // A folder without pictures is no class: nothing could be learnt of it.
    if (found.paths.size() == before) continue;
    found.labels.resize(found.paths.size(), label);
    found.classes.push_back(folder.filename().string());
  }
  if (found.paths.empty()) io::refuse(path, "has no folder with .png, .jpg or .jpeg files");
  return found;
}

}  // namespace TYTO_API
