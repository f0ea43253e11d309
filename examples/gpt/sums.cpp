// SPDX-License-Identifier: MIT
// Encodes sums as symbols.
#include "sums.hpp"

#include <array>
#include <cstring>
#include <tyto/nn/transforms.hpp>

namespace {

constexpr std::int64_t pairs = 1'000'000;
constexpr std::int64_t sequence_length = question_length + answer_length;
constexpr std::int64_t plus = 10, equals = 11;

/// A pair's place in an order of all pairs that jumps about: 617,411 has no divisor in common with a million.
bool is_held_back(std::int64_t pair) { return pair * 617'411 % pairs < UnseenSums::count; }

std::array<std::int64_t, sequence_length> written(std::int64_t pair) {
  const std::int64_t a = pair / 1000, b = pair % 1000, sum = a + b;
  return {a / 100, a / 10 % 10, a % 10,   plus,          b / 100,        b / 10 % 10,
          b % 10,  equals,      sum % 10, sum / 10 % 10, sum / 100 % 10, sum / 1000};
}

tyto::HostArray array_of(const std::vector<std::int64_t>& numbers, std::int64_t rows) {
  tyto::HostArray array{tyto::DType::i64, {rows, static_cast<std::int64_t>(numbers.size()) / rows}, {}};
  array.bytes.resize(numbers.size() * sizeof(std::int64_t));
  std::memcpy(array.bytes.data(), numbers.data(), array.bytes.size());
  return array;
}

}  // namespace

tyto::nn::HostBatch Sums::read(std::span<const std::int64_t> samples, const tyto::Key& key) const {
  std::vector<std::int64_t> inputs, targets;
  for (const std::int64_t sample : samples) {
    tyto::nn::Draws draws(key.split(static_cast<std::uint64_t>(sample)));
    std::int64_t pair = draws.below(pairs);
    while (is_held_back(pair)) pair = draws.below(pairs);
    const auto sequence = written(pair);
    inputs.insert(inputs.end(), sequence.begin(), sequence.end() - 1);
    targets.insert(targets.end(), question_length - 1, -1);
    targets.insert(targets.end(), sequence.end() - answer_length, sequence.end());
  }
  const auto rows = static_cast<std::int64_t>(samples.size());
  return {array_of(inputs, rows), array_of(targets, rows)};
}

UnseenSums unseen_sums() {
  UnseenSums sums;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    if (!is_held_back(pair)) continue;
    const auto sequence = written(pair);
    sums.questions.insert(sums.questions.end(), sequence.begin(), sequence.begin() + question_length);
    sums.answers.insert(sums.answers.end(), sequence.begin() + question_length, sequence.end());
  }
  return sums;
}
