// SPDX-License-Identifier: MIT
// Reads a text and cuts windows out of it.
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <tyto/nn/transforms.hpp>

Text read_text_file(const std::string& path, std::int64_t least) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw tyto::IoError(path + ": cannot be read");
  if (static_cast<std::int64_t>(bytes.size()) / 10 <= least) {
    throw tyto::IoError(path + ": has " + std::to_string(bytes.size()) + " bytes; more than " +
                        std::to_string(10 * least) + " are needed, to learn from and to hold back");
  }
  Text text;
  std::array<bool, 256> occurs{};
  for (const char byte : bytes) occurs[static_cast<unsigned char>(byte)] = true;
  for (std::size_t byte = 0; byte < occurs.size(); ++byte) {
    if (occurs[byte]) text.symbols += static_cast<char>(byte);
  }
  text.training = numbers_of(bytes, text.symbols);
  const auto end = text.training.begin() + static_cast<std::ptrdiff_t>(bytes.size() - bytes.size() / 10);
  text.held_back.assign(end, text.training.end());
  text.training.erase(end, text.training.end());
  return text;
}

std::vector<std::int64_t> numbers_of(const std::string& text, const std::string& symbols) {
  std::array<std::int64_t, 256> numbers;
  numbers.fill(-1);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    numbers[static_cast<unsigned char>(symbols[i])] = static_cast<std::int64_t>(i);
  }
  std::vector<std::int64_t> list;
  for (const char byte : text) {
    list.push_back(numbers[static_cast<unsigned char>(byte)]);
    if (list.back() < 0) throw std::invalid_argument(std::string("'") + byte + "' does not occur in what is learnt");
  }
  return list;
}

tyto::nn::HostBatch Windows::read(std::span<const std::int64_t> samples, const tyto::Key& key) const {
  const tyto::Shape shape{static_cast<std::int64_t>(samples.size()), length_};
  const std::size_t row = static_cast<std::size_t>(length_) * sizeof(std::int64_t);
  tyto::nn::HostBatch batch{{tyto::DType::i64, shape, {}}, {tyto::DType::i64, shape, {}}};
  for (const std::int64_t sample : samples) {
    tyto::nn::Draws draws(key.split(static_cast<std::uint64_t>(sample)));
    const std::int64_t first = draws.below(static_cast<std::int64_t>(text_.size()) - length_);
    const auto* bytes = reinterpret_cast<const std::byte*>(text_.data() + first);
    batch.inputs.bytes.insert(batch.inputs.bytes.end(), bytes, bytes + row);
    batch.targets.bytes.insert(batch.targets.bytes.end(), bytes + sizeof(std::int64_t),
                               bytes + sizeof(std::int64_t) + row);
  }
  return batch;
}
