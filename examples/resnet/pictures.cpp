// SPDX-License-Identifier: MIT
// Reading the real set or drawing one; both stay in host memory, only batches go to the device.
#include "pictures.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <tyto/device.hpp>
#include <tyto/shaping.hpp>
#include <vector>

#include "drawing.hpp"

namespace nn = tyto::nn;

namespace {

using Host = tyto::Tensor<tyto::Eager>;

// All files whose names begin so, as one set.
HostPictures read_all(const std::string& folder, const std::string& beginning) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.compare(0, beginning.size(), beginning) == 0) paths.push_back(entry.path());
  }
  if (paths.empty()) throw tyto::IoError(folder + ": there is no " + beginning + "*.bin, plain or .gz");
  std::sort(paths.begin(), paths.end());
  std::vector<Host> images, labels;
  for (const std::string& path : paths) {
    const HostPictures part = tyto::read_cifar10(path);
    images.push_back(part.images);
    labels.push_back(part.labels);
  }
  return {tyto::concat<tyto::Eager>(images, 0), tyto::concat<tyto::Eager>(labels, 0)};
}

// Of the training pictures of CIFAR-10, which serve drawn ones as well.
nn::PictureTransform normalise_channels() {
  return nn::normalise({0.4914F, 0.4822F, 0.4465F}, {0.247F, 0.2435F, 0.2616F});
}

HostPictures drawn(std::int64_t count, std::uint64_t seed) {
  const Drawing drawing = draw_pictures(count, seed);
  return {Host::from(drawing.pixels, {count, drawing_side, drawing_side, 3}), Host::from(drawing.labels, {count})};
}

}  // namespace

PictureSets read_cifar_folder(const std::string& folder) {
  const tyto::DeviceScope host("cpu");
  return {read_all(folder, "data_batch"), read_all(folder, "test_batch"), "CIFAR-10 from " + folder};
}

PictureSets draw_picture_sets(std::int64_t count, std::uint64_t seed) {
  const tyto::DeviceScope host("cpu");
  constexpr std::uint64_t test_seed = 0x7465737400000000;  // far from the seeds that people choose
  return {drawn(count, seed), drawn(std::max<std::int64_t>(count / 10, 1), seed ^ test_seed), "drawn pictures"};
}

void hold_out(PictureSets& pictures, std::int64_t count) {
  const std::int64_t left = pictures.training.images.shape()[0] - count;
  if (left <= 0) {
    throw std::invalid_argument("--held-out: " + std::to_string(count) + " of " + std::to_string(left + count) +
                                " training pictures leave none to train with");
  }
  const auto part = [&](const tyto::Index& rows) -> HostPictures {
    return {pictures.training.images(rows), pictures.training.labels(rows)};
  };
  pictures.test = part(tyto::slice(left, left + count));
  pictures.training = part(tyto::slice(0, left));
}

nn::Pictures varied(const HostPictures& pictures, std::int64_t padding) {
  return {pictures.images, pictures.labels, {nn::random_crop(32, padding), nn::random_flip(), normalise_channels()}};
}

nn::Pictures normalised(const HostPictures& pictures) {
  return {pictures.images, pictures.labels, {normalise_channels()}};
}
