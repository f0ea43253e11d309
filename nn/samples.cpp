// SPDX-License-Identifier: MIT
// Reads samples from arrays.
#include "tyto/nn/samples.hpp"

#include <cstring>

#include "core/value/text.hpp"
#include "tyto/autodiff.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

HostArray gather(const Tensor<Any>& array, std::span<const std::byte> all, std::span<const std::int64_t> samples) {
  HostArray part{array.dtype(), array.shape(), {}};
  part.shape[0] = static_cast<std::int64_t>(samples.size());
  const std::size_t width = all.size() / static_cast<std::size_t>(array.shape()[0]);
  part.bytes.resize(width * samples.size());
  for (std::size_t i = 0; i < samples.size() && width != 0; ++i) {
    std::memcpy(part.bytes.data() + i * width, all.data() + static_cast<std::size_t>(samples[i]) * width, width);
  }
  return part;
}

}  // namespace

ArraySamples::ArraySamples(const Tensor<Any>& inputs, const Tensor<Any>& targets) {
  if (inputs.ndim() < 1 || targets.ndim() < 1 || inputs.shape()[0] != targets.shape()[0]) {
    core::throw_error<ShapeError>("Batches: inputs ", inputs.shape(), " and targets ", targets.shape(),
                                  " must have equally many samples along the first axis");
  }
  // Read here, by the thread that made them: what is lazy is evaluated now, and other threads see bytes only.
  // Keeps tensors of its own, since a later read of the caller's tensors may move their elements.
  inputs_ = stop_gradient(inputs);
  targets_ = stop_gradient(targets);
  input_bytes_ = inputs_.bytes();
  target_bytes_ = targets_.bytes();
}

HostBatch ArraySamples::read(std::span<const std::int64_t> samples, const Key&) const {
  return {gather(inputs_, input_bytes_, samples), gather(targets_, target_bytes_, samples)};
}

}  // namespace nn
}  // namespace TYTO_API
