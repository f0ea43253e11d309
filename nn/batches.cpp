// SPDX-License-Identifier: MIT
// Batches made at once, or begun on another thread ahead of their use.
#include "tyto/nn/batches.hpp"

#include <deque>
#include <limits>
#include <vector>

#include "core/value/text.hpp"
#include "nn/batch_order.hpp"
#include "nn/worker.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

/// Keys split off a seed stand for epochs; what samples draw has a branch of its own, so that nothing that they draw
/// says anything about the order.
constexpr std::uint64_t branch_of_samples = std::numeric_limits<std::uint64_t>::max();

HostBatch read_batch(const Samples& samples, const std::vector<std::int64_t>& numbers, const Key& key) {
  HostBatch batch = samples.read(numbers, key);
  const auto check = [&](const char* name, const HostArray& array) {
    if (array.shape.empty() || array.shape[0] != std::ssize(numbers)) {
      core::throw_error<ShapeError>("Batches: read() of the data set was asked for ", numbers.size(),
                                    " samples and gave ", name, " of shape ", array.shape,
                                    "; the first axis must have one for each");
    }
    const std::size_t needed = static_cast<std::size_t>(element_count(array.shape)) * size_of(array.dtype);
    if (array.bytes.size() == needed) return;
    core::throw_error<ShapeError>("Batches: read() of the data set gave ", name, " of ", array.bytes.size(),
                                  " bytes, which are ", needed, " in ", array.dtype, " of shape ", array.shape);
  };
  check("inputs", batch.inputs);
  check("targets", batch.targets);
  return batch;
}

}  // namespace

struct BatchReader::State {
  /// A batch, or the end of an epoch, that was begun before it was asked for.
  struct Prepared {
    BatchPosition after;
    std::future<HostBatch> batch;  // invalid at the end of an epoch
  };

  std::shared_ptr<const Samples> samples;
  BatchOptions options;
  BatchOrder order;
  BatchPosition position;  // of the reader
  BatchPosition begun;     // up to where batches have been begun
  std::deque<Prepared> prepared;
  std::unique_ptr<Worker<HostBatch>> worker;  // begun with the first batch; ends before what it reads from does

  State(std::shared_ptr<const Samples> from, const BatchOptions& given)
      : samples(std::move(from)), options(given), order(samples->count(), given) {}

  Key key_of(std::int64_t epoch) const {
    return Key{options.seed, 0}.split(branch_of_samples).split(static_cast<std::uint64_t>(epoch));
  }

  void begin_batches() {
    if (!worker) worker = std::make_unique<Worker<HostBatch>>();
    while (static_cast<std::int64_t>(prepared.size()) <= options.ahead) {
      const Key key = key_of(begun.epoch);
      std::vector<std::int64_t> numbers = order.take(begun);
      Prepared next{begun, {}};
      if (!numbers.empty()) {
        next.batch = worker->start(
            [source = samples, list = std::move(numbers), key] { return read_batch(*source, list, key); });
      }
      prepared.push_back(std::move(next));
    }
  }

  void forget_prepared() {
    if (worker) worker->drop();
    prepared.clear();
    begun = position;
  }

  std::optional<HostBatch> next_at_once() {
    BatchPosition after = position;
    const std::vector<std::int64_t> numbers = order.take(after);
    std::optional<HostBatch> batch;
    if (!numbers.empty()) batch = read_batch(*samples, numbers, key_of(position.epoch));
    position = after;
    return batch;
  }

  std::optional<HostBatch> next_prepared() {
    begin_batches();
    Prepared next = std::move(prepared.front());
    prepared.pop_front();
    std::optional<HostBatch> batch;
    if (next.batch.valid()) {
      try {
        batch = next.batch.get();
      } catch (...) {
        // Discards prefetched batches, so that the next call returns the same batch, or throws the same error.
        forget_prepared();
        throw;
      }
    }
    position = next.after;
    return batch;
  }
};

BatchReader::BatchReader(std::shared_ptr<const Samples> samples, const BatchOptions& options)
    : state_(std::make_unique<State>(std::move(samples), options)) {}
BatchReader::~BatchReader() = default;
BatchReader::BatchReader(BatchReader&&) noexcept = default;
BatchReader& BatchReader::operator=(BatchReader&&) noexcept = default;

std::optional<HostBatch> BatchReader::next() {
  return state_->options.ahead == 0 ? state_->next_at_once() : state_->next_prepared();
}

std::int64_t BatchReader::samples() const { return state_->order.samples(); }
std::int64_t BatchReader::batches_per_epoch() const { return state_->order.batches_in(samples()); }
std::int64_t BatchReader::batches_left() const { return state_->order.batches_in(samples() - state_->position.sample); }
const BatchPosition& BatchReader::position() const { return state_->position; }

void BatchReader::seek(const BatchPosition& position) {
  if (position.epoch < 0 || position.sample < 0 || position.sample > samples()) {
    core::throw_error<IndexError>("Batches: there is no sample ", position.sample, " of epoch ", position.epoch,
                                  "; an epoch has ", samples(), " samples");
  }
  state_->position = position;
  state_->forget_prepared();
}

}  // namespace nn
}  // namespace TYTO_API
