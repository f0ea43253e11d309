// SPDX-License-Identifier: MIT
// The layers of the encoder.
#include "encoder.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <tyto/attention.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Any>;

EncoderOptions read_encoder_options(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw tyto::IoError(path + ": cannot be read");
  try {
    const nlohmann::json config = nlohmann::json::parse(file);
    return {.tokens = config.at("vocab_size"),
            .types = config.at("type_vocab_size"),
            .length = config.at("max_position_embeddings"),
            .features = config.at("hidden_size"),
            .heads = config.at("num_attention_heads"),
            .hidden = config.at("intermediate_size"),
            .layers = config.at("num_hidden_layers"),
            .epsilon = config.at("layer_norm_eps")};
  } catch (const nlohmann::json::exception& error) {
    throw tyto::IoError(path + ": describes no BERT: " + error.what());
  }
}

namespace {

std::vector<EncoderBlock> make_blocks(const EncoderOptions& options) {
  std::vector<EncoderBlock> blocks;
  // A constructor call each: copies of a layer would share their weights.
  for (std::int64_t i = 0; i < options.layers; ++i) blocks.emplace_back(options);
  return blocks;
}

}  // namespace

EncoderBlock::EncoderBlock(const EncoderOptions& options)
    : heads(options.heads),
      query({.in = options.features, .out = options.features}),
      key({.in = options.features, .out = options.features}),
      value({.in = options.features, .out = options.features}),
      joined({.in = options.features, .out = options.features}),
      larger({.in = options.features, .out = options.hidden}),
      smaller({.in = options.hidden, .out = options.features}),
      attention_norm({.shape = {options.features}, .epsilon = options.epsilon}),
      output_norm({.shape = {options.features}, .epsilon = options.epsilon}) {}

Tensor EncoderBlock::encode(const Tensor& x, const Tensor& is_token) const {
  const std::int64_t sentences = x.shape()[0], length = x.shape()[1], features = x.shape()[2];
  const auto by_heads = [&](const nn::Linear& layer) {
    return transpose(layer(x).reshape({sentences, length, heads, features / heads}), {0, 2, 1, 3});
  };
  const Tensor seen =
      scaled_dot_product_attention(by_heads(query), by_heads(key), by_heads(value), {.key_mask = is_token});
  const Tensor together = transpose(seen, {0, 2, 1, 3}).reshape({sentences, length, features});
  const Tensor attended = attention_norm(x + joined(together));
  return output_norm(attended + smaller(gelu(larger(attended))));
}

nn::Members EncoderBlock::members() const {
  return {{"attention.self.query", query},
          {"attention.self.key", key},
          {"attention.self.value", value},
          {"attention.output.dense", joined},
          {"attention.output.LayerNorm", attention_norm},
          {"intermediate.dense", larger},
          {"output.dense", smaller},
          {"output.LayerNorm", output_norm}};
}

SentenceEncoder::SentenceEncoder(const EncoderOptions& options)
    : words({.count = options.tokens, .features = options.features}),
      places({.count = options.length, .features = options.features}),
      types({.count = options.types, .features = options.features}),
      norm({.shape = {options.features}, .epsilon = options.epsilon}),
      blocks(make_blocks(options)) {}

Tensor SentenceEncoder::forward(const Tensor& tokens, nn::Phase) const {
  const Tensor is_token = tokens != 0;
  Tensor x =
      norm(words(tokens) + places(Tensor::arange(tokens.shape()[1])) + types(Tensor::zeros({1}, tyto::DType::i64)));
  for (const EncoderBlock& block : blocks) x = block.encode(x, is_token);
  // The mean over the tokens of each sentence, brought to length 1, as the model was trained.
  const Tensor weight = expand_dims(cast(is_token, tyto::DType::f32), {-1});
  const Tensor mean = sum(x * weight, {1}) / sum(weight, {1});
  return mean / l2_norm(mean, {-1}, true);
}

nn::Members SentenceEncoder::members() const {
  return {{"embeddings.word_embeddings", words},
          {"embeddings.position_embeddings", places},
          {"embeddings.token_type_embeddings", types},
          {"embeddings.LayerNorm", norm},
          {"encoder.layer", blocks}};
}
