// SPDX-License-Identifier: MIT
// A decoder of transformer blocks: learns from whole sequences, and writes on place by place with cached keys and
// values.
#pragma once

#include <cstdint>
#include <tyto/nn/layers.hpp>
#include <vector>

struct GptOptions {
  std::int64_t symbols = 0;  // how many there are
  std::int64_t length = 0;   // of the longest sequence
  std::int64_t features = 64;
  std::int64_t heads = 4;
  std::int64_t layers = 2;
};

class Gpt : public tyto::nn::Layer {
 public:
  explicit Gpt(const GptOptions& options);

  /// Symbols (batch, length) to scores of what comes next at each place, (batch, length, symbols).
  tyto::Tensor<tyto::Any> forward(const tyto::Tensor<tyto::Any>& sequence, tyto::nn::Phase phase) const override;
  tyto::nn::Members members() const override;

  /// A cache for each block.
  std::vector<tyto::nn::AttentionCache> make_caches(std::int64_t batch) const;
  /// The symbols (batch,) at one place to scores of what comes next, (batch, symbols).
  template <class M>
  tyto::Tensor<M> next(const tyto::Tensor<M>& symbols, const tyto::Tensor<M>& place,
                       const std::vector<tyto::nn::AttentionCache>& caches) const {
    tyto::Tensor<M> x = expand_dims(symbols_(symbols) + places_(place), {1});
    for (std::size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i].next(x, place, caches[i]);
    return squeeze(head_(norm_(x)), {1});
  }

 private:
  GptOptions options_;
  tyto::nn::Embedding symbols_, places_;
  std::vector<tyto::nn::TransformerEncoderLayer> blocks_;
  tyto::nn::LayerNorm norm_;
  tyto::nn::Linear head_;
};
