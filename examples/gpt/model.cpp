// SPDX-License-Identifier: MIT
// The layers of the decoder.
#include "model.hpp"

#include <tyto/elementwise.hpp>
#include <tyto/shaping.hpp>

namespace nn = tyto::nn;

namespace {

using Tensor = tyto::Tensor<tyto::Any>;

nn::EmbeddingOptions embedding(std::int64_t count, std::int64_t features) {
  return {.count = count, .features = features, .initial = nn::normal_weights(0.1)};
}

std::vector<nn::TransformerEncoderLayer> make_blocks(const GptOptions& options) {
  return nn::repeat(options.layers, [&] {
    return nn::TransformerEncoderLayer({.features = options.features,
                                        .heads = options.heads,
                                        .hidden = 4 * options.features,
                                        .dropout = 0,
                                        .activation = nn::BlockActivation::gelu,
                                        .norm_first = true});
  });
}

}  // namespace

Gpt::Gpt(const GptOptions& options)
    : options_(options),
      symbols_(embedding(options.symbols, options.features)),
      places_(embedding(options.length, options.features)),
      blocks_(make_blocks(options)),
      norm_({.shape = {options.features}}),
      head_({.in = options.features, .out = options.symbols}) {}

Tensor Gpt::forward(const Tensor& sequence, nn::Phase phase) const {
  Tensor x = symbols_(sequence) + places_(Tensor::arange(sequence.shape()[1]));
  for (const nn::TransformerEncoderLayer& block : blocks_) x = block(x, {.causal = true}, phase);
  return head_(norm_(x));
}

nn::Members Gpt::members() const {
  return {{"symbols", symbols_}, {"places", places_}, {"blocks", blocks_}, {"norm", norm_}, {"head", head_}};
}

std::vector<nn::AttentionCache> Gpt::make_caches(std::int64_t batch) const {
  std::vector<nn::AttentionCache> caches;
  for (const nn::TransformerEncoderLayer& block : blocks_) {
    caches.push_back(block.self_attn.make_cache(batch, options_.length));
  }
  return caches;
}
