// SPDX-License-Identifier: MIT
// The vocabulary of a model's texts: tensors hold a number for each word.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tyto::onnx {

/// Equal words have equal numbers; beyond that the numbers say nothing, and their order is that of appearance.
class Vocabulary {
 public:
  std::int64_t code_of(std::string_view word);
  /// Throws IndexError for a number that is no word's.
  const std::string& word_of(std::int64_t code) const;

 private:
  std::deque<std::string> words_;
  std::unordered_map<std::string_view, std::int64_t> codes_;
};

}  // namespace tyto::onnx
