// SPDX-License-Identifier: MIT
// Layers that look vectors up by index: embedding, and sums, means and maxima of the vectors of a bag.
#pragma once

#include <optional>

#include "tyto/nn/initial.hpp"
#include "tyto/nn/layer.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Options of `Embedding`.
struct EmbeddingOptions {
  std::int64_t count = 0;                    ///< of different indices
  std::int64_t features = 0;                 ///< of each
  std::optional<std::int64_t> padding = {};  ///< the index whose vector is zero and is not trained
  /// Vectors that are looked up and longer than this are shortened to it, in training for good.
  std::optional<double> max_norm = {};
  double p = 2;                 ///< of the norm that lengths are measured in
  bool share_by_count = false;  ///< the gradient of a vector is divided by how often it was looked up in this call
  Initialiser initial = normal_weights(1);  ///< how weights are drawn
  DType dtype = DType::f32;                 ///< element type
};
/// The row of weight (count, features) at each index: integers of any shape to that shape and `features`. An index
/// below zero counts from the end, as in take().
struct TYTO_API Embedding : Layer {
  EmbeddingOptions options;  ///< as given
  Tensor<Any> weight;        ///< a vector for each number

  explicit Embedding(const EmbeddingOptions& given);  // Embedding({.count = 10, .features = 4})
  Tensor<Any> forward(const Tensor<Any>& indices, Phase phase) const override;
  Members members() const override;
};

/// How the vectors of a bag are combined.
enum class BagMode : std::uint8_t { mean, sum, max };
/// Options of `EmbeddingBag`.
struct EmbeddingBagOptions {
  std::int64_t count = 0;                    ///< of different indices
  std::int64_t features = 0;                 ///< of each
  BagMode mode = BagMode::mean;              ///< what is made of the vectors of a bag
  std::optional<std::int64_t> padding = {};  ///< the index that does not count
  std::optional<double> max_norm = {};       ///< as Embedding's
  double p = 2;                              ///< order of the norm that is limited
  bool share_by_count = false;               ///< whether gradients are divided by how often a vector is looked up
  Initialiser initial = normal_weights(1);   ///< how weights are drawn
  DType dtype = DType::f32;                  ///< element type
};
/// Options of a call of EmbeddingBag.
template <class M>
struct BagOptions {
  Tensor<M> offsets = {};  ///< (bags,), ascending: where in a list of indices (places,) each bag begins, the first at 0
  Tensor<M> weights = {};  ///< of the vectors, in the shape of the indices; for sums only
};
/// The mean, sum or maximum of the rows of weight (count, features) that a bag of indices names: (bags, length) to
/// (bags, features). An empty bag yields zeros.
///
///     nn::EmbeddingBag bag({.count = 1000, .features = 16});
///     auto y = bag(Tensor{{1, 2, 4}, {4, 3, 2}});
///     auto z = bag(Tensor{1, 2, 4, 5, 4}, {.offsets = Tensor{0, 2}});  // two of 2 and 3 indices
struct TYTO_API EmbeddingBag : Layer {
  EmbeddingBagOptions options;  ///< as given
  Tensor<Any> weight;           ///< a vector for each number

  explicit EmbeddingBag(const EmbeddingBagOptions& given);
  Tensor<Any> forward(const Tensor<Any>& indices, Phase phase) const override;
  Members members() const override;

  using Layer::operator();
  template <class M>
  Tensor<M> operator()(const Tensor<M>& indices, const std::type_identity_t<BagOptions<M>>& bags,
                       Phase phase = detail::phase_around()) const {
    return detail::with_mode<M>(
        gathered(detail::modeless(indices), {detail::modeless(bags.offsets), detail::modeless(bags.weights)}, phase));
  }

 private:
  Tensor<Any> gathered(const Tensor<Any>& indices, const BagOptions<Any>& bags, Phase phase) const;
};

}  // namespace TYTO_API
}  // namespace tyto
