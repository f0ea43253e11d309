// A data set cut into batches, in an order drawn anew each epoch, from any place on.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

struct BatchOptions {
  std::int64_t size = 32;
  bool shuffle = true;
  bool drop_last = false;  ///< leave out a last batch that is not full
  std::uint64_t seed = 0;  ///< of the order; an epoch's order depends on this and its number only
};

/// Which sample comes next.
struct BatchPosition {
  std::int64_t epoch = 0;
  std::int64_t sample = 0;
};

/// The part of Batches that knows no mode: two arrays of equally many samples along the first axis.
class TYTO_API BatchOrder {
 public:
  BatchOrder(const Tensor<Any>& inputs, const Tensor<Any>& targets, const BatchOptions& options);

  /// Samples of the next batch; none when the epoch is over, which begins the next one.
  std::span<const std::int64_t> next();
  /// The listed samples of an array, one behind the other.
  static std::vector<std::byte> gather(const Tensor<Any>& array, std::span<const std::int64_t> samples);

  std::int64_t samples() const { return samples_; }
  std::int64_t batches_per_epoch() const { return batches_in(samples_); }
  std::int64_t batches_left() const { return batches_in(samples_ - position_.sample); }
  const BatchPosition& position() const { return position_; }
  void seek(const BatchPosition& position);

 private:
  std::int64_t batches_in(std::int64_t samples) const;
  void arrange();

  BatchOptions options_;
  std::int64_t samples_;
  BatchPosition position_;
  std::vector<std::int64_t> order_;
  std::int64_t order_of_epoch_ = -1;
};

/// Pairs of inputs and targets. A loop over it takes what is left of the current epoch.
///
///     nn::Batches<Tensor> batches(inputs, targets, {.size = 100});
///     for (auto [x, t] : batches) step(x, t);
template <class T>
class Batches {
 public:
  template <class M>
  Batches(const Tensor<M>& inputs, const Tensor<M>& targets, const BatchOptions& options = {})
      : inputs_(inputs.value()), targets_(targets.value()), order_(inputs_, targets_, options) {}

  /// The next batch; nothing at the end of each epoch.
  std::optional<std::pair<T, T>> next() {
    const std::span<const std::int64_t> samples = order_.next();
    if (samples.empty()) return {};
    return std::pair(part(inputs_, samples), part(targets_, samples));
  }

  struct End {};
  class Iterator {
   public:
    explicit Iterator(Batches& batches) : batches_(&batches), current_(batches.next()) {}
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
  Iterator begin() { return Iterator(*this); }
  End end() { return {}; }

  std::int64_t samples() const { return order_.samples(); }
  std::int64_t batches_per_epoch() const { return order_.batches_per_epoch(); }
  /// Of the current epoch.
  std::int64_t batches_left() const { return order_.batches_left(); }
  /// Where the next batch begins; seek() goes on from there.
  const BatchPosition& position() const { return order_.position(); }
  void seek(const BatchPosition& position) { order_.seek(position); }

 private:
  static T part(const Tensor<Any>& array, std::span<const std::int64_t> samples) {
    const std::vector<std::byte> bytes = BatchOrder::gather(array, samples);
    Shape shape = array.shape();
    shape[0] = static_cast<std::int64_t>(samples.size());
    return T::from_bytes(bytes.data(), element_count(shape), shape, array.dtype());
  }

  Tensor<Any> inputs_;
  Tensor<Any> targets_;
  BatchOrder order_;
};

}  // namespace TYTO_API
}  // namespace tyto
