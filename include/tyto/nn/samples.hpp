// SPDX-License-Identifier: MIT
// Samples: data sets that batches are read from, in any order and by any thread.
#pragma once

#include <cstdint>
#include <span>

#include "tyto/host_array.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Inputs and targets of a batch in host memory, one sample behind the other along the first axis.
struct HostBatch {
  HostArray inputs;   ///< a batch of them
  HostArray targets;  ///< one for each input
};

/// A data set. What is read depends on the arguments alone: the same batch comes whichever thread asks, and when.
///
///     struct Squares : nn::Samples {
///       std::int64_t count() const override { return 100; }
///       nn::HostBatch read(std::span<const std::int64_t> samples, const tyto::Key&) const override {
///         nn::HostBatch batch{{tyto::DType::u8, {std::int64_t(samples.size())}, {}}, {}};
///         for (const std::int64_t i : samples) batch.inputs.bytes.push_back(std::byte(i));
///         batch.targets = batch.inputs;
///         for (std::byte& target : batch.targets.bytes) target = std::byte(int(target) * int(target) % 256);
///         return batch;
///       }
///     };
class TYTO_API Samples {
 public:
  virtual ~Samples() = default;
  /// How many samples there are.
  virtual std::int64_t count() const = 0;
  /// The samples of these numbers. Each epoch has a key; what is random about sample i is drawn by
  /// `nn::Draws draws(key.split(i))` or `Tensor<Eager>::normal(shape, {.key = key.split(i)})`.
  virtual HostBatch read(std::span<const std::int64_t> samples, const Key& key) const = 0;
};

/// Two arrays of equally many samples along the first axis.
class TYTO_API ArraySamples final : public Samples {
 public:
  ArraySamples(const Tensor<Any>& inputs, const Tensor<Any>& targets);
  std::int64_t count() const override { return inputs_.shape()[0]; }
  HostBatch read(std::span<const std::int64_t> samples, const Key& key) const override;

 private:
  Tensor<Any> inputs_;
  Tensor<Any> targets_;
  std::span<const std::byte> input_bytes_;
  std::span<const std::byte> target_bytes_;
};

}  // namespace TYTO_API
}  // namespace tyto
