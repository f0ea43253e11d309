// SPDX-License-Identifier: MIT
// CIFAR-10: records of a label and three planes of 32 x 32 bytes, turned here into pixels of three channels.
#include "io/images.hpp"
#include "io/refuse.hpp"
#include "io/stream.hpp"

namespace tyto::io {

namespace {
constexpr std::size_t side = 32;
constexpr std::size_t plane = side * side;
constexpr std::size_t channels = 3;
constexpr std::size_t record_size = 1 + channels * plane;
constexpr int classes = 10;
}  // namespace

std::pair<HostArray, HostArray> read_cifar10(const ByteSource& source) {
  const std::unique_ptr<Stream> stream = plain_stream(source);
  HostArray images{DType::u8, {0, side, side, channels}, {}};
  HostArray labels{DType::u8, {0}, {}};
  std::vector<std::byte> record(record_size);
  for (;;) {
    const std::size_t got = stream->read_some(record);
    if (got == 0) break;
    const std::size_t number = labels.bytes.size();
    if (got != record_size) {
      refuse(source.name(), "ends within image ", number, ": ", got, " bytes of ", record_size, " are there");
    }
    if (std::to_integer<int>(record[0]) >= classes) {
      refuse(source.name(), "gives image ", number, " the label ", std::to_integer<int>(record[0]),
             "; labels are below ", classes);
    }
    within_memory(source.name(), "the list of images", images.bytes.size() + record_size, [&] {
      labels.bytes.push_back(record[0]);
      for (std::size_t pixel = 0; pixel < plane; ++pixel) {
        for (std::size_t channel = 0; channel < channels; ++channel) {
          images.bytes.push_back(record[1 + channel * plane + pixel]);
        }
      }
    });
  }
  labels.shape[0] = static_cast<std::int64_t>(labels.bytes.size());
  images.shape[0] = labels.shape[0];
  return {std::move(images), std::move(labels)};
}

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

std::pair<HostArray, HostArray> read_cifar10_file(const std::string& path) {
  return io::read_cifar10(io::FileSource(path));
}

}  // namespace detail
}  // namespace TYTO_API
