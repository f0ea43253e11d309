// SPDX-License-Identifier: MIT
// A data set cut at random into parts, such as those for training and for validation.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/nn/samples.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Some samples of a data set, which it shares.
class TYTO_API Subset final : public Samples {
 public:
  /// Sample i of the subset is sample `numbers[i]` of the data set.
  Subset(std::shared_ptr<const Samples> samples, std::vector<std::int64_t> numbers);
  std::int64_t count() const override { return static_cast<std::int64_t>(numbers_.size()); }
  HostBatch read(std::span<const std::int64_t> samples, const Key& key) const override;
  /// The numbers of these samples in the data set.
  const std::vector<std::int64_t>& numbers() const { return numbers_; }

 private:
  std::shared_ptr<const Samples> samples_;
  std::vector<std::int64_t> numbers_;
};

/// Parts of a data set that have no sample in common and together have all, drawn by the seed. The parts are fractions
/// that sum to 1 (each rounded down; what is left goes to the first parts, one each) or counts that sum to the samples.
TYTO_API std::vector<Subset> random_split(std::shared_ptr<const Samples> samples, const std::vector<double>& parts,
                                          std::uint64_t seed = 0);

/// The same of a data set by value.
template <class S>
requires std::is_base_of_v<Samples, S> std::vector<Subset> random_split(S samples, const std::vector<double>& parts,
                                                                        std::uint64_t seed = 0) {
  return random_split(std::shared_ptr<const Samples>(std::make_shared<const S>(std::move(samples))), parts, seed);
}
/// The same of two tensors of equally many samples along the first axis.
///
///     const auto parts = nn::random_split(inputs, targets, {0.8, 0.2});
///     nn::Batches<Tensor> training(parts[0], {.size = 100}), validation(parts[1], {.size = 100, .shuffle = false});
template <class M>
std::vector<Subset> random_split(const Tensor<M>& inputs, const std::type_identity_t<Tensor<M>>& targets,
                                 const std::vector<double>& parts, std::uint64_t seed = 0) {
  return random_split(ArraySamples(Tensor<Any>(inputs.value()), Tensor<Any>(targets.value())), parts, seed);
}
template <class M, class P>
requires std::is_arithmetic_v<P> std::vector<Subset> random_split(const Tensor<M>&, const Tensor<M>&, P,
                                                                  std::uint64_t = 0) {
  static_assert(std::is_void_v<M>, "random_split takes a list of parts, such as {0.8, 0.2}");
  return {};
}

}  // namespace TYTO_API
}  // namespace tyto
