// SPDX-License-Identifier: MIT
// Picks pictures, transforms them and stacks them to a batch.
#include "tyto/nn/pictures.hpp"

#include <algorithm>
#include <cstring>

#include "core/value/text.hpp"
#include "tyto/autodiff.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

Picture picture_of(std::span<const std::byte> bytes, std::int64_t height, std::int64_t width, std::int64_t channels) {
  Picture picture{height, width, channels, std::vector<float>(bytes.size())};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    picture.values[i] = static_cast<float>(std::to_integer<int>(bytes[i])) / 255;
  }
  return picture;
}

}  // namespace

Pictures::Pictures(const Tensor<Any>& images, const Tensor<Any>& labels, std::vector<PictureTransform> transforms)
    : transforms_(std::move(transforms)) {
  if (images.ndim() != 4 || images.dtype() != DType::u8 || labels.shape() != Shape{images.shape()[0]}) {
    core::throw_error<ShapeError>("Pictures: images ", name_of(images.dtype()), " ", images.shape(), " and labels ",
                                  labels.shape(), "; expected u8 (count, height, width, channels) and (count,)");
  }
  labels_ = labels.to_vector<std::int64_t>();
  const Shape shape = images.shape();
  if (std::ranges::count(shape, 0) != 0 && shape[0] != 0) {
    core::throw_error<ShapeError>("Pictures: images ", shape, " have no pixels");
  }
  // A tensor of its own, held for its bytes, which are read once here: what is lazy is evaluated on this thread, and
  // reading the caller's again may move what was read of it.
  const Tensor<Any> own = stop_gradient(images);
  picture_ = [own, shape, bytes = own.bytes()](std::int64_t sample) {
    const auto size = static_cast<std::size_t>(shape[1] * shape[2] * shape[3]);
    return picture_of(bytes.subspan(static_cast<std::size_t>(sample) * size, size), shape[1], shape[2], shape[3]);
  };
}

Pictures::Pictures(const ImageFolder& folder, std::vector<PictureTransform> transforms)
    : labels_(folder.labels), transforms_(std::move(transforms)) {
  if (folder.paths.size() != folder.labels.size()) {
    core::throw_error<ShapeError>("Pictures: ", folder.paths.size(), " files and ", folder.labels.size(), " labels");
  }
  picture_ = [paths = folder.paths](std::int64_t sample) {
    const HostArray image = tyto::detail::read_image_file(paths[static_cast<std::size_t>(sample)], {});
    return picture_of(image.bytes, image.shape[0], image.shape[1], image.shape[2]);
  };
}

HostBatch Pictures::read(std::span<const std::int64_t> samples, const Key& key) const {
  HostBatch batch{{DType::f32, {}, {}}, {DType::i64, {static_cast<std::int64_t>(samples.size())}, {}}};
  batch.targets.bytes.resize(samples.size() * sizeof(std::int64_t));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t sample = samples[i];
    Picture picture = picture_(sample);
    Draws draws(key.split(static_cast<std::uint64_t>(sample)));
    for (const PictureTransform& transform : transforms_) transform(picture, draws);
    const std::size_t size = picture.values.size() * sizeof(float);
    const Shape shape{batch.targets.shape[0], picture.height, picture.width, picture.channels};
    if (i == 0) {
      batch.inputs.shape = shape;
      batch.inputs.bytes.resize(size * samples.size());
    } else if (shape != batch.inputs.shape) {
      core::throw_error<ShapeError>("Pictures: picture ", sample, " is ", picture.height, " x ", picture.width, " x ",
                                    picture.channels, " after its transforms, picture ", samples[0],
                                    " of the same batch ", batch.inputs.shape[1], " x ", batch.inputs.shape[2], " x ",
                                    batch.inputs.shape[3]);
    }
    std::memcpy(batch.inputs.bytes.data() + i * size, picture.values.data(), size);
    std::memcpy(batch.targets.bytes.data() + i * sizeof(std::int64_t), &labels_[static_cast<std::size_t>(sample)],
                sizeof(std::int64_t));
  }
  return batch;
}

}  // namespace nn
}  // namespace TYTO_API
