// SPDX-License-Identifier: MIT
// WordPiece: sentences as numbers of words and parts of words, as BERT and its relatives read them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

class Tokeniser {
 public:
  /// Of a tokenizer.json with a WordPiece vocabulary, as Hugging Face writes it.
  explicit Tokeniser(const std::string& path);

  /// The numbers of [CLS], of the sentence's tokens, and of [SEP]; `longest` of them at most. Small letters stand for
  /// large ones and letters for those with Western European accents; other writings are taken as they are.
  std::vector<std::int64_t> encode(const std::string& sentence, std::size_t longest) const;

 private:
  std::int64_t number_of(const std::string& token) const;
  void add_word(const std::string& word, std::vector<std::int64_t>& numbers) const;

  std::unordered_map<std::string, std::int64_t> vocabulary_;
};
