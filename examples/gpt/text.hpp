// SPDX-License-Identifier: MIT
// The text of a file as symbols, cut into windows at random places.
#pragma once

#include <cstdint>
#include <string>
#include <tyto/nn/samples.hpp>
#include <vector>

struct Text {
  std::string symbols;                 // the bytes that occur, in their order
  std::vector<std::int64_t> training;  // the first nine tenths, as numbers of symbols
  std::vector<std::int64_t> held_back;
};

/// Throws tyto::IoError for a file that cannot be read or has fewer than `least` bytes in its last tenth.
Text read_text_file(const std::string& path, std::int64_t least);

/// The numbers of the symbols of a text. Throws std::invalid_argument for bytes that are no symbols.
std::vector<std::int64_t> numbers_of(const std::string& text, const std::string& symbols);

/// Windows of a text: inputs (batch, length) and what follows each symbol.
class Windows final : public tyto::nn::Samples {
 public:
  Windows(std::vector<std::int64_t> text, std::int64_t length, std::int64_t count)
      : text_(std::move(text)), length_(length), count_(count) {}
  std::int64_t count() const override { return count_; }
  tyto::nn::HostBatch read(std::span<const std::int64_t> samples, const tyto::Key& key) const override;

 private:
  std::vector<std::int64_t> text_;
  std::int64_t length_;
  std::int64_t count_;
};
