// SPDX-License-Identifier: MIT
// Reads the real set or draws one.
#include "digits.hpp"

#include <filesystem>
#include <tyto/device.hpp>
#include <tyto/io.hpp>
#include <tyto/shaping.hpp>

#include "drawing.hpp"

namespace {

using Host = tyto::Tensor<tyto::Eager>;

// The file as it was distributed, or as it is once unpacked.
std::string find_file(const std::string& folder, const std::string& name) {
  for (const char* suffix : {".gz", ""}) {
    const std::string path = folder + "/" + name + suffix;
    if (std::filesystem::exists(path)) return path;
  }
  throw tyto::IoError(folder + ": there is neither " + name + ".gz nor " + name);
}

Digits checked(const std::string& name, const Host& images, const Host& labels) {
  if (images.ndim() != 3 || images.shape()[1] != drawing_side || images.shape()[2] != drawing_side ||
      labels.shape() != tyto::Shape{images.shape()[0]}) {
    throw tyto::IoError(name + ": images " + tyto::to_string(images.shape()) + " and labels " +
                        tyto::to_string(labels.shape()) + ", expected (n,28,28) and (n,)");
  }
  return {reshape(images, {-1, drawing_side, drawing_side, 1}), labels};
}

Digits read(const std::string& folder, const std::string& name) {
  return checked(folder + "/" + name, tyto::read_idx(find_file(folder, name + "-images-idx3-ubyte")),
                 tyto::read_idx(find_file(folder, name + "-labels-idx1-ubyte")));
}

Digits drawn(std::int64_t count, std::uint64_t seed) {
  const Drawing drawing = draw_digits(count, seed);
  return checked("drawn digits", Host::from(drawing.pixels, {count, drawing_side, drawing_side}),
                 Host::from(drawing.labels, {count}));
}

}  // namespace

DigitSets load_digits(const Options& options) {
  // The sets stay in host memory; only batches go to the device.
  const tyto::DeviceScope host("cpu");
  if (!options.data.empty()) {
    return {read(options.data, "train"), read(options.data, "t10k"), "MNIST from " + options.data};
  }
  constexpr std::uint64_t test_seed = 0x7465737400000000;  // far from the seeds that people choose
  const std::int64_t test_count = std::max<std::int64_t>(options.samples / 10, 1);
  return {drawn(options.samples, options.seed), drawn(test_count, options.seed ^ test_seed), "drawn digits"};
}
