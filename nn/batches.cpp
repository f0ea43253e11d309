// The order of samples and their gathering on the host.
#include "tyto/nn/batches.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/text.hpp"
#include "tyto/device.hpp"

namespace tyto TYTO_API {
namespace nn {

BatchOrder::BatchOrder(const Tensor<Any>& inputs, const Tensor<Any>& targets, const BatchOptions& options)
    : options_(options), samples_(0) {
  if (inputs.ndim() < 1 || targets.ndim() < 1 || inputs.shape()[0] != targets.shape()[0]) {
    throw ShapeError(core::text("Batches: inputs ", inputs.shape(), " and targets ", targets.shape(),
                                " must have equally many samples along the first axis"));
  }
  if (options.size < 1) throw ValueError(core::text("Batches: the size ", options.size, " must be at least 1"));
  samples_ = inputs.shape()[0];
  if (samples_ == 0) throw ValueError("Batches: there are no samples");
  if (options.drop_last && samples_ < options.size) {
    throw ValueError(core::text("Batches: ", samples_, " samples do not fill a batch of ", options.size));
  }
}

std::int64_t BatchOrder::batches_in(std::int64_t samples) const {
  const bool short_one = !options_.drop_last && samples % options_.size != 0;
  return samples / options_.size + (short_one ? 1 : 0);
}

void BatchOrder::seek(const BatchPosition& position) {
  if (position.epoch < 0 || position.sample < 0 || position.sample > samples_) {
    throw IndexError(core::text("Batches: there is no sample ", position.sample, " of epoch ", position.epoch,
                                "; an epoch has ", samples_, " samples"));
  }
  position_ = position;
}

void BatchOrder::arrange() {
  if (order_of_epoch_ == position_.epoch) return;
  if (options_.shuffle) {
    // The order must not depend on where the network runs.
    const DeviceScope host("cpu");
    const Key key = Key{options_.seed, 0}.split(static_cast<std::uint64_t>(position_.epoch));
    order_ = Tensor<Eager>::permutation(samples_, {.key = key}).to_vector<std::int64_t>();
  } else if (order_.empty()) {
    order_.resize(static_cast<std::size_t>(samples_));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
  }
  order_of_epoch_ = position_.epoch;
}

std::span<const std::int64_t> BatchOrder::next() {
  const std::int64_t count = std::min(options_.size, samples_ - position_.sample);
  if (count == 0 || (options_.drop_last && count < options_.size)) {
    position_ = {position_.epoch + 1, 0};
    return {};
  }
  arrange();
  const std::span<const std::int64_t> batch =
      std::span(order_).subspan(static_cast<std::size_t>(position_.sample), static_cast<std::size_t>(count));
  position_.sample += count;
  return batch;
}

std::vector<std::byte> BatchOrder::gather(const Tensor<Any>& array, std::span<const std::int64_t> samples) {
  const std::span<const std::byte> all = array.bytes();
  const std::size_t width = all.size() / static_cast<std::size_t>(array.shape()[0]);
  std::vector<std::byte> part(width * samples.size());
  for (std::size_t i = 0; i < samples.size() && width != 0; ++i) {
    std::memcpy(part.data() + i * width, all.data() + static_cast<std::size_t>(samples[i]) * width, width);
  }
  return part;
}

}  // namespace nn
}  // namespace TYTO_API
