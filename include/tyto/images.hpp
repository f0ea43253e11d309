// SPDX-License-Identifier: MIT
// Pictures from PNG and JPEG files, and folders of them with a folder for each class.
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

namespace detail {
HostArray read_image_file(const std::string& path, const ImageOptions& options);
}  // namespace detail

/// A PNG or JPEG file as u8 (height, width, channels), of 8 bits each whatever the file has. Opacity that is not asked
/// for is dropped; neither colour profiles nor the orientation that cameras note are applied. Throws IoError for
/// damaged files, and where Tyto was built without the library for the format.
template <class T = Tensor<Eager>>
T read_image(const std::string& path, const ImageOptions& options = {}) {
  return to_tensor<T>(detail::read_image_file(path, options));
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
