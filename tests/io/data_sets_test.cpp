// SPDX-License-Identifier: MIT
// The real MNIST and CIFAR-10 files, where they are present: their sizes, labels and sums.
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <optional>

#include "tests/io/bytes.hpp"

namespace tyto::io_tests {
namespace {

std::optional<std::string> found(const std::string& file) {
  const char* root = std::getenv("TYTO_DATA");
  if (root == nullptr || !std::filesystem::exists(std::string(root) + "/" + file)) {
    MESSAGE("skipped: there is no $TYTO_DATA/", file);
    return {};
  }
  return std::string(root) + "/" + file;
}

std::array<int, 10> count_classes(const HostArray& labels) {
  std::array<int, 10> counts{};
  for (const std::byte label : labels.bytes) ++counts.at(std::to_integer<std::size_t>(label));
  return counts;
}

}  // namespace

TEST_CASE("MNIST's labels and images are what its README states") {
  const auto images = found("mnist/train-images-idx3-ubyte.gz");
  const auto labels = found("mnist/train-labels-idx1-ubyte.gz");
  if (!images || !labels) return;
  const HostArray classes = detail::read_idx_file(*labels);
  CHECK(classes.shape == Shape{60000});
  const Bytes first(classes.bytes.begin(), classes.bytes.begin() + 10);
  CHECK(first == bytes_of({"\5\0\4\1\x09\2\1\3\1\4", 10}));
  CHECK(count_classes(classes) == std::array{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
  const HostArray pixels = detail::read_idx_file(*images);
  CHECK(pixels.shape == Shape{60000, 28, 28});
  double total = 0;
  for (const std::byte pixel : pixels.bytes) total += std::to_integer<int>(pixel);
  CHECK(total / 255 / static_cast<double>(pixels.bytes.size()) == doctest::Approx(0.1306605).epsilon(1e-6));
}

TEST_CASE("CIFAR-10's labels and images are what its README states") {
  const auto path = found("cifar10/test_batch_first1000.bin.gz");
  if (!path) return;
  const auto [images, labels] = detail::read_cifar10_file(*path);
  CHECK(images.shape == Shape{1000, 32, 32, 3});
  const Bytes first(labels.bytes.begin(), labels.bytes.begin() + 10);
  CHECK(first == bytes_of({"\3\x08\x08\0\6\6\1\6\3\1", 10}));
  CHECK(count_classes(labels) == std::array{103, 89, 100, 103, 90, 86, 112, 102, 106, 109});
}

}  // namespace tyto::io_tests
