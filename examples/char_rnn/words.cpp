// SPDX-License-Identifier: MIT
// Encodes words as rows of numbers.
#include "words.hpp"

#include <algorithm>
#include <fstream>
#include <tyto/device.hpp>
#include <vector>

namespace {

using Host = tyto::Tensor<tyto::Eager>;

class Rows {
 public:
  void add(const std::string& word) {
    constexpr auto length = static_cast<std::size_t>(longest_word) + 1;
    std::vector<std::int64_t> input(length, 0), target(length, -1);
    for (std::size_t i = 0; i < word.size(); ++i) input[i + 1] = target[i] = word[i] - 'a' + 1;
    target[word.size()] = 0;
    inputs_.insert(inputs_.end(), input.begin(), input.end());
    targets_.insert(targets_.end(), target.begin(), target.end());
    ++count_;
  }
  std::int64_t count() const { return count_; }
  WordRows tensors() const {
    const tyto::Shape shape{count_, longest_word + 1};
    return {Host::from(inputs_, shape), Host::from(targets_, shape)};
  }

 private:
  std::vector<std::int64_t> inputs_, targets_;
  std::int64_t count_ = 0;
};

}  // namespace

WordList read_words(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw tyto::IoError(path + ": cannot be read; name a list of words by --words (Debian's: wamerican)");
  Rows training, held_back;
  std::int64_t number = 0;
  for (std::string word; std::getline(file, word);) {
    const bool plain = std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (!plain || word.empty() || static_cast<std::int64_t>(word.size()) > longest_word) continue;
    (++number % 20 == 0 ? held_back : training).add(word);
  }
  if (held_back.count() == 0) {
    throw tyto::IoError(path + ": has " + std::to_string(number) +
                        " words of the letters a to z; at least 20 are needed");
  }
  const tyto::DeviceScope host("cpu");
  return {training.tensors(), held_back.tensors()};
}
