// SPDX-License-Identifier: MIT
// A data set cut into batches, in an order drawn anew each epoch, from any place on, and made ahead of their use.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "tyto/nn/samples.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Options of `BatchReader`.
struct BatchOptions {
  std::int64_t size = 32;  ///< samples in a batch
  bool shuffle = true;     ///< whether each epoch has an order of its own
  bool drop_last = false;  ///< leave out a last batch that is not full
  std::uint64_t seed = 0;  ///< of the order and of what samples draw; both depend on this and the epoch's number only
  std::int64_t ahead =
      0;                  ///< so many batches are made beforehand, on a thread of their own; 0: when they are asked for
  std::int64_t part = 0;  ///< number of the part of each batch that this process takes: its rank
  std::int64_t parts = 1;  ///< how many there are; parts differ by one sample at most, and a last batch of fewer
                           ///< samples than parts is left out
};

/// The position in a data set: the sample that comes next.
struct BatchPosition {
  std::int64_t epoch = 0;   ///< from 0 on
  std::int64_t sample = 0;  ///< the position in the order of the epoch
};

/// The part of Batches that is the same in both modes.
class TYTO_API BatchReader {
 public:
  BatchReader(std::shared_ptr<const Samples> samples, const BatchOptions& options);
  ~BatchReader();
  BatchReader(BatchReader&&) noexcept;
  BatchReader& operator=(BatchReader&&) noexcept;

  /// The next batch; none when the epoch is over, which begins the next one. Throws what reading the samples threw, on
  /// whichever thread that was; the position stays before that batch.
  std::optional<HostBatch> next();

  /// Samples in all, batches of an epoch, and batches left of the current one.
  std::int64_t samples() const;
  std::int64_t batches_per_epoch() const;
  std::int64_t batches_left() const;
  /// Where the next batch begins; seek() goes on from there.
  const BatchPosition& position() const;
  void seek(const BatchPosition& position);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Pairs of inputs and targets. A loop over it takes what is left of the current epoch, so that each loop to the end is
/// an epoch; `batches.seek({})` goes back to the first.
///
///     nn::Batches<Tensor> batches(inputs, targets, {.size = 100});
///     for (auto [x, t] : batches) step(x, t);
template <class T>
class Batches {
 public:
  /// The type of inputs and targets.
  using tensor = T;

  template <class M>
  Batches(const Tensor<M>& inputs, const Tensor<M>& targets, const BatchOptions& options = {})
      : Batches(ArraySamples(Tensor<Any>(inputs.value()), Tensor<Any>(targets.value())), options) {}
  template <class M>
  Batches(const Tensor<M>&, const Tensor<M>&, std::integral auto) = delete;  // write {.size = 64}
  /// Batches of anything that can be read sample by sample, such as Pictures.
  template <class S>
  requires std::is_base_of_v<Samples, S>
  explicit Batches(S samples, const BatchOptions& options = {})
      : reader_(std::make_shared<const S>(std::move(samples)), options) {}

  /// The next batch; nothing at the end of each epoch.
  std::optional<std::pair<T, T>> next() {
    const std::optional<HostBatch> batch = reader_.next();
    if (!batch) return {};
    return std::pair(to_tensor<T>(batch->inputs), to_tensor<T>(batch->targets));
  }

  /// The end of an epoch.
  struct End {};
  /// The iterator of a range-based loop over the batches.
  class Iterator {
   public:
    explicit Iterator(Batches& batches) : batches_(&batches), current_(batches.next()) {}
    /// This batch, and on to the next.
    const std::pair<T, T>& operator*() const { return *current_; }
    Iterator& operator++() {
      current_ = batches_->next();
      return *this;
    }
    friend bool operator==(const Iterator& a, End) { return !a.current_; }

   private:
    Batches* batches_;
    std::optional<std::pair<T, T>> current_;
  };
  /// A loop over what is left of the epoch.
  Iterator begin() { return Iterator(*this); }
  End end() { return {}; }

  /// Samples in all, and batches of an epoch.
  std::int64_t samples() const { return reader_.samples(); }
  std::int64_t batches_per_epoch() const { return reader_.batches_per_epoch(); }
  /// Batches that remain in the current epoch.
  std::int64_t batches_left() const { return reader_.batches_left(); }
  /// Where the next batch begins; seek() goes on from there.
  const BatchPosition& position() const { return reader_.position(); }
  void seek(const BatchPosition& position) { reader_.seek(position); }
  void reset() = delete;  // each loop takes the next epoch; seek({}) goes back to the first

 private:
  BatchReader reader_;
};

template <class M>
Batches(const Tensor<M>&, const Tensor<M>&, const BatchOptions& = {}) -> Batches<Tensor<M>>;

}  // namespace TYTO_API
}  // namespace tyto
