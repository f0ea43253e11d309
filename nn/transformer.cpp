// SPDX-License-Identifier: MIT
// The blocks of transformers, put together of attention, norms and linear layers.
#include "tyto/nn/transformer.hpp"

#include "core/value/text.hpp"
#include "nn/running_call.hpp"
#include "tyto/elementwise.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

MultiheadAttentionOptions attention_of(const TransformerOptions& o) {
  return {.features = o.features,
          .heads = o.heads,
          .dropout = o.dropout,
          .bias = o.bias,
          .initial = o.initial,
          .dtype = o.dtype};
}

LinearOptions linear_of(const TransformerOptions& o, std::int64_t in, std::int64_t out) {
  return {.in = in, .out = out, .bias = o.bias, .initial = o.initial, .dtype = o.dtype};
}

LayerNormOptions norm_of(const TransformerOptions& o) {
  return {.shape = {o.features}, .epsilon = o.epsilon, .bias = o.bias, .dtype = o.dtype};
}

/// The two linear layers, with dropout between and behind them.
template <class Block>
Tensor<Any> each_place(const Block& block, const Tensor<Any>& x, Phase phase) {
  const Tensor<Any> hidden = block.linear1(x, phase);
  const Tensor<Any> bent = block.options.activation == BlockActivation::gelu ? gelu(hidden) : relu(hidden);
  return block.dropout(block.linear2(block.dropout(bent, phase), phase), phase);
}

/// x plus what a part makes of it, with the norm in its place.
template <class Part>
Tensor<Any> beside_shortcut(const Tensor<Any>& x, const LayerNorm& norm, bool norm_first, Phase phase,
                            const Part& part) {
  if (norm_first) return x + part(norm(x, phase));
  return norm(x + part(x), phase);
}

/// A block whose self-attention is `attend`.
template <class Attend>
Tensor<Any> through_block(const TransformerEncoderLayer& block, const Tensor<Any>& x, Phase phase,
                          const Attend& attend) {
  const bool norm_first = block.options.norm_first;
  const Tensor<Any> y = beside_shortcut(x, block.norm1, norm_first, phase,
                                        [&](const Tensor<Any>& z) { return block.dropout(attend(z), phase); });
  return beside_shortcut(y, block.norm2, norm_first, phase,
                         [&](const Tensor<Any>& z) { return each_place(block, z, phase); });
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(const TransformerOptions& given)
    : options(given),
      self_attn(attention_of(given)),
      linear1(linear_of(given, given.features, given.hidden)),
      linear2(linear_of(given, given.hidden, given.features)),
      norm1(norm_of(given)),
      norm2(norm_of(given)),
      dropout(given.dropout) {}

Tensor<Any> TransformerEncoderLayer::encode(const Tensor<Any>& x, const AttentionOptions<Any>& masks,
                                            Phase phase) const {
  return LayerCall(*this, phase).run([&]() -> Tensor<Any> {
    return through_block(*this, x, phase, [&](const Tensor<Any>& z) { return self_attn(z, z, z, masks, phase); });
  });
}

Tensor<Any> TransformerEncoderLayer::read_on(const Tensor<Any>& x, const Tensor<Any>& position,
                                             const AttentionCache& cache) const {
  return LayerCall(*this, inference).run([&]() -> Tensor<Any> {
    return through_block(*this, x, inference, [&](const Tensor<Any>& z) { return self_attn.next(z, position, cache); });
  });
}

Tensor<Any> TransformerEncoderLayer::forward(const Tensor<Any>& x, Phase phase) const { return encode(x, {}, phase); }

Members TransformerEncoderLayer::members() const {
  return {{"self_attn", self_attn}, {"linear1", linear1}, {"linear2", linear2}, {"norm1", norm1}, {"norm2", norm2}};
}

TransformerDecoderLayer::TransformerDecoderLayer(const TransformerOptions& given)
    : options(given),
      self_attn(attention_of(given)),
      multihead_attn(attention_of(given)),
      linear1(linear_of(given, given.features, given.hidden)),
      linear2(linear_of(given, given.hidden, given.features)),
      norm1(norm_of(given)),
      norm2(norm_of(given)),
      norm3(norm_of(given)),
      dropout(given.dropout) {}

Tensor<Any> TransformerDecoderLayer::decode(const Tensor<Any>& x, const Tensor<Any>& memory,
                                            const AttentionOptions<Any>& masks,
                                            const AttentionOptions<Any>& memory_masks, Phase phase) const {
  return LayerCall(*this, phase).run([&]() -> Tensor<Any> {
    const Tensor<Any> y = beside_shortcut(x, norm1, options.norm_first, phase, [&](const Tensor<Any>& z) {
      return dropout(self_attn(z, z, z, masks, phase), phase);
    });
    const Tensor<Any> u = beside_shortcut(y, norm2, options.norm_first, phase, [&](const Tensor<Any>& z) {
      return dropout(multihead_attn(z, memory, memory, memory_masks, phase), phase);
    });
    return beside_shortcut(u, norm3, options.norm_first, phase,
                           [&](const Tensor<Any>& z) { return each_place(*this, z, phase); });
  });
}

Members TransformerDecoderLayer::members() const {
  return {{"self_attn", self_attn}, {"multihead_attn", multihead_attn},
          {"linear1", linear1},     {"linear2", linear2},
          {"norm1", norm1},         {"norm2", norm2},
          {"norm3", norm3}};
}

}  // namespace nn
}  // namespace TYTO_API
