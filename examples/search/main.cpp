// SPDX-License-Identifier: MIT
// Finds the sentences that are nearest in meaning to a question: MiniLM's weights by name, its tokeniser, and a table.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>
#include <string>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "encoder.hpp"
#include "examples/command_line.hpp"
#include "tokeniser.hpp"

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Lazy>;

namespace {

struct Options {
  std::string model;
  std::string sentences;
  std::string query = "Where does a pet rest?";
  std::string device = "cpu";
  std::string vectors;
  std::int64_t top = 5;
};

CommandLine command_line(Options& options) {
  CommandLine line("search", "Finds sentences nearest in meaning, by all-MiniLM-L6-v2 or another small BERT.");
  line.text("--model", options.model, "DIR", "with config.json, tokenizer.json and model.safetensors")
      .text("--sentences", options.sentences, "FILE", "what to search in, a line each; without it a few of its own")
      .text("--query", options.query, "TEXT", "what to search for")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .text("--vectors", options.vectors, "FILE", "write the sentences' vectors as .npy")
      .number("--top", options.top, 1, "how many sentences to print");
  return line;
}

std::vector<std::string> read_sentences(const std::string& path) {
  if (path.empty()) {
    return {
        "A cat sleeps on the sofa.",      "A kitten is napping on the couch.", "The stock market fell sharply today.",
        "Shares dropped on Wall Street.", "Boil the pasta for nine minutes.",  "The train to Vienna leaves at noon.",
        "Rain is expected all weekend."};
  }
  std::ifstream file(path);
  if (!file) throw tyto::IoError(path + ": cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

/// Sentences as vectors, some at a time. Lengths are multiples of 16, so that a few plans serve all of them.
class Embedder {
 public:
  explicit Embedder(const std::string& folder)
      : options_(read_encoder_options(folder + "/config.json")),
        tokeniser_(folder + "/tokenizer.json"),
        encoder_(options_),
        embed_(tyto::compile(Function([this](const Tensor& tokens) { return encoder_(tokens); }))) {
    // The pooler serves another task, and the positions are the numbers from 0 on.
    const auto rename = [](const std::string& name) {
      const bool unused = name.rfind("pooler.", 0) == 0 || name == "embeddings.position_ids";
      return unused ? std::string() : name;
    };
    nn::load(encoder_, folder + "/model.safetensors", {.rename = rename, .layout = nn::WeightLayout::pytorch});
  }

  Tensor operator()(const std::vector<std::string>& sentences) {
    constexpr std::size_t together = 16;
    std::vector<Tensor> vectors;
    for (std::size_t at = 0; at < sentences.size(); at += together) {
      const std::size_t count = std::min(together, sentences.size() - at);
      vectors.push_back(embed_(tokens_of(std::span(sentences).subspan(at, count))));
    }
    return concat(vectors, 0);
  }

 private:
  using Function = std::function<Tensor(Tensor)>;

  Tensor tokens_of(std::span<const std::string> sentences) const {
    std::vector<std::vector<std::int64_t>> rows;
    std::size_t longest = 0;
    for (const std::string& sentence : sentences) {
      rows.push_back(tokeniser_.encode(sentence, static_cast<std::size_t>(options_.length)));
      longest = std::max(longest, rows.back().size());
    }
    longest = std::min((longest + 15) / 16 * 16, static_cast<std::size_t>(options_.length));
    std::vector<std::int64_t> tokens;
    for (std::vector<std::int64_t>& row : rows) {
      row.resize(longest);
      tokens.insert(tokens.end(), row.begin(), row.end());
    }
    return Tensor::from(tokens, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest)});
  }

  EncoderOptions options_;
  Tokeniser tokeniser_;
  SentenceEncoder encoder_;
  tyto::Compiled<Function> embed_;
};

void search(const Options& options) {
  if (options.model.empty()) throw std::invalid_argument("--model is needed; see --help");
  const tyto::DeviceScope device(options.device);
  Embedder embedder(options.model);
  const std::vector<std::string> sentences = read_sentences(options.sentences);
  if (sentences.empty()) throw tyto::ValueError(options.sentences + ": holds no sentence");
  const auto start = std::chrono::steady_clock::now();
  const Tensor vectors = embedder(sentences);
  if (!options.vectors.empty()) tyto::write_npy(options.vectors, vectors);
  const auto likeness = matmul(vectors, embedder({options.query}).reshape({-1})).to_vector<float>();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return likeness[a] > likeness[b]; });
  for (std::size_t i = 0; i < std::min(order.size(), static_cast<std::size_t>(options.top)); ++i) {
    const float like = likeness[order[i]];
    std::string bar;
    for (int part = 0; part < 20; ++part) bar += like * 20 > static_cast<float>(part) + 0.5F ? "█" : "·";
    std::printf("%s %6.3f  %s\n", bar.c_str(), static_cast<double>(like), sentences[order[i]].c_str());
  }
  std::printf("%zu sentences and the query in %.2f s\n", sentences.size(), time.count());
}

}  // namespace

int main(int count, char** words) {
  try {
    Options options;
    if (command_line(options).parse(count, words)) search(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "search: " << error.what() << '\n';
    return 1;
  }
}
