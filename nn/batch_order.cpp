// SPDX-License-Identifier: MIT
// Draws the order of samples anew each epoch.
#include "nn/batch_order.hpp"

#include <algorithm>
#include <numeric>

#include "core/value/text.hpp"
#include "tyto/device.hpp"

namespace tyto::nn {

BatchOrder::BatchOrder(std::int64_t samples, const BatchOptions& options) : options_(options), samples_(samples) {
  if (options.size < 1) core::throw_error<ValueError>("Batches: the size ", options.size, " must be at least 1");
  if (options.ahead < 0) core::throw_error<ValueError>("Batches: ahead = ", options.ahead, " must be at least 0");
  if (samples_ == 0) throw ValueError("Batches: there are no samples");
  if (options.part < 0 || options.part >= options.parts) {
    core::throw_error<ValueError>("Batches: there is no part ", options.part, " of ", options.parts);
  }
  if (std::min(options.size, samples_) < options.parts) {
    core::throw_error<ValueError>("Batches: batches of ", std::min(options.size, samples_),
                                  " have no sample for each of ", options.parts, " parts");
  }
  if (options.drop_last && samples_ < options.size) {
    core::throw_error<ValueError>("Batches: ", samples_, " samples do not fill a batch of ", options.size);
  }
}

std::int64_t BatchOrder::batches_in(std::int64_t samples) const {
  const bool short_one = !options_.drop_last && samples % options_.size >= std::max<std::int64_t>(1, options_.parts);
  return samples / options_.size + (short_one ? 1 : 0);
}

std::vector<std::int64_t> BatchOrder::take(BatchPosition& position) {
  const std::int64_t count = std::min(options_.size, samples_ - position.sample);
  if (count < options_.parts || (options_.drop_last && count < options_.size)) {
    position = {position.epoch + 1, 0};
    return {};
  }
  arrange(position.epoch);
  const auto batch = order_.begin() + static_cast<std::ptrdiff_t>(position.sample);
  position.sample += count;
  const auto [part, parts] = std::pair(options_.part, options_.parts);
  // Whole batches first: count * part would overflow for a batch that is as good as endless.
  const auto begin_of = [&](std::int64_t number) { return count / parts * number + count % parts * number / parts; };
  return {batch + begin_of(part), batch + begin_of(part + 1)};
}

void BatchOrder::arrange(std::int64_t epoch) {
  if (order_of_epoch_ == epoch) return;
  if (options_.shuffle) {
    // The order must not depend on where the network runs.
    const DeviceScope host("cpu");
    const Key key = Key{options_.seed, 0}.split(static_cast<std::uint64_t>(epoch));
    order_ = Tensor<Eager>::permutation(samples_, {.key = key}).to_vector<std::int64_t>();
  } else if (order_.empty()) {
    order_.resize(static_cast<std::size_t>(samples_));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
  }
  order_of_epoch_ = epoch;
}

}  // namespace tyto::nn
