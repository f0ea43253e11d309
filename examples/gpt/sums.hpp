// SPDX-License-Identifier: MIT
// Sums of two numbers of three digits as sequences, "123+456=9750": the answer's lowest digit first, since that is the
// order in which sums are worked out.
#pragma once

#include <cstdint>
#include <string>
#include <tyto/nn/samples.hpp>
#include <vector>

inline constexpr const char* sum_symbols = "0123456789+=";
inline constexpr std::int64_t question_length = 8, answer_length = 4;

/// Random sums, none of those held back: inputs (batch, 11) and the symbol that follows each, where it is of the
/// answer; elsewhere -1.
class Sums final : public tyto::nn::Samples {
 public:
  explicit Sums(std::int64_t count) : count_(count) {}
  std::int64_t count() const override { return count_; }
  tyto::nn::HostBatch read(std::span<const std::int64_t> samples, const tyto::Key& key) const override;

 private:
  std::int64_t count_;
};

/// The 2,000 sums of the million that are never trained with: questions (2000, 8) and answers (2000, 4) as symbols.
struct UnseenSums {
  static constexpr std::int64_t count = 2000;
  std::vector<std::int64_t> questions;
  std::vector<std::int64_t> answers;
};
UnseenSums unseen_sums();
