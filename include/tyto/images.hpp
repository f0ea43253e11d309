// SPDX-License-Identifier: MIT
// Pictures read from PNG and JPEG files and written to them, and folders of them with a folder for each class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tyto/host_array.hpp"

namespace tyto TYTO_API {

/// Options of `read_image_file`.
struct ImageOptions {
  /// 1: grey, 3: red, green, blue, 4: and opacity; 0: as many of them as the file has.
  int channels = 3;
  /// A picture of more pixels is refused before memory is asked for.
  std::int64_t largest = std::int64_t{1} << 27;
};

/// Options of `write_jpeg`.
struct JpegOptions {
  /// From 1 (small) to 100 (all but exact), as libjpeg and Pillow count.
  int quality = 90;
};

namespace detail {
HostArray read_image_file(const std::string& path, const ImageOptions& options);
void write_png_file(const std::string& path, const HostArrayView& picture);
void write_jpeg_file(const std::string& path, const HostArrayView& picture, const JpegOptions& options);
}  // namespace detail

/// A PNG or JPEG file as u8 (height, width, channels), of 8 bits each whatever the file has. Opacity that is not asked
/// for is dropped; neither colour profiles nor the orientation that cameras note are applied. Throws IoError for
/// damaged files, and where Tyto was built without the library for the format.
template <class T = Tensor<Eager>>
T read_image(const std::string& path, const ImageOptions& options = {}) {
  return to_tensor<T>(detail::read_image_file(path, options));
}

/// Writes u8 (height, width), grey, or (height, width, channels): 1 grey, 2 grey and opacity, 3 red, green, blue, 4 and
/// opacity. Throws TypeError and ShapeError for other tensors, and IoError where Tyto was built without libpng.
///
///     write_png("x.png", cast(round(x * 255), DType::u8));  // x from 0 to 1
template <class M>
void write_png(const std::string& path, const Tensor<M>& picture) {
  detail::write_png_file(path, detail::view_of("write_png", picture));
}
/// Writes u8 (height, width) or (height, width, 1), grey, or (height, width, 3), red, green, blue, as a JPEG file,
/// which keeps a picture nearly, not exactly. Throws as write_png does; the library is libjpeg.
template <class M>
void write_jpeg(const std::string& path, const Tensor<M>& picture, const JpegOptions& options = {}) {
  detail::write_jpeg_file(path, detail::view_of("write_jpeg", picture), options);
}

/// Picture files with their classes: file i is of class `classes[labels[i]]`.
struct ImageFolder {
  std::vector<std::string> paths;    ///< of the files
  std::vector<std::int64_t> labels;  ///< the number of each file's class
  std::vector<std::string> classes;  ///< names of the folders, in alphabetical order
};
/// The .png, .jpg and .jpeg files (in any case) of the folders inside of one, each of which is a class; in the order of
/// their names. Nothing is read yet. Throws IoError when there are none.
ImageFolder list_image_folder(const std::string& path);

}  // namespace TYTO_API
