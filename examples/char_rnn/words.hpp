// SPDX-License-Identifier: MIT
// A list of words as rows of letters, those to learn from and those held back.
#pragma once

#include <cstdint>
#include <string>
#include <tyto/tensor.hpp>

/// a to z are 1 to 26; 0 stands before the first letter and behind the last.
inline constexpr std::int64_t letters = 27;
inline constexpr std::int64_t longest_word = 15;

/// Row by row what is read, and the letter that follows, or -1 behind the end of the word: (words, 16) of i64 each.
struct WordRows {
  tyto::Tensor<tyto::Eager> inputs;
  tyto::Tensor<tyto::Eager> targets;
};

struct WordList {
  WordRows training;
  WordRows held_back;  // every twentieth word
};

/// The words of a file, a line each, that have nothing but the letters a to z, and at most 15 of them. Throws
/// tyto::IoError for a file that cannot be read or has fewer than twenty of them.
WordList read_words(const std::string& path);
