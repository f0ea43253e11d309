// SPDX-License-Identifier: MIT
// A transformer that makes of each sentence a vector, near to those of sentences that mean the same.
#pragma once

#include <string>
#include <vector>

#include <tyto/nn.hpp>

struct EncoderOptions {
  std::int64_t tokens = 0;  ///< in the vocabulary
  std::int64_t types = 0;   ///< of sentences in a pair; here all are of the first
  std::int64_t length = 0;  ///< of the longest sentence
  std::int64_t features = 0;
  std::int64_t heads = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  double epsilon = 0;
};

/// As a config.json of Hugging Face's BERT states them.
EncoderOptions read_encoder_options(const std::string& path);

/// A block of BERT: attention and a small network, each with a shortcut and a norm behind; states have BERT's names.
struct EncoderBlock : tyto::nn::Module {
  std::int64_t heads;
  tyto::nn::Linear query, key, value, joined, larger, smaller;
  tyto::nn::LayerNorm attention_norm, output_norm;

  explicit EncoderBlock(const EncoderOptions& options);
  tyto::Tensor<tyto::Any> encode(const tyto::Tensor<tyto::Any>& x, const tyto::Tensor<tyto::Any>& is_token) const;
  tyto::nn::Members members() const override;
};

/// Tokens (sentences, length), 0 behind the last of each, to vectors (sentences, features) of length 1.
struct SentenceEncoder : tyto::nn::Layer {
  tyto::nn::Embedding words, places, types;
  tyto::nn::LayerNorm norm;
  std::vector<EncoderBlock> blocks;

  explicit SentenceEncoder(const EncoderOptions& options);
  tyto::Tensor<tyto::Any> forward(const tyto::Tensor<tyto::Any>& tokens, tyto::nn::Phase phase) const override;
  tyto::nn::Members members() const override;
};
