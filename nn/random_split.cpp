// SPDX-License-Identifier: MIT
// Parts of a data set: consecutive pieces of one random order.
#include "tyto/nn/random_split.hpp"

#include <cmath>
#include <numeric>

#include "core/value/text.hpp"
#include "nn/batch_order.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

std::vector<std::int64_t> part_sizes(std::int64_t count, const std::vector<double>& parts) {
  double sum = 0;
  bool whole = true;
  for (const double part : parts) {
    if (!(part >= 0)) core::throw_error<ValueError>("random_split: a part of ", part, " is no fraction and no count");
    sum += part;
    whole = whole && part == std::floor(part);
  }
  std::vector<std::int64_t> sizes;
  if (whole && sum == static_cast<double>(count)) {
    for (const double part : parts) sizes.push_back(static_cast<std::int64_t>(part));
    return sizes;
  }
  if (std::abs(sum - 1) > 1e-9) {
    core::throw_error<ValueError>("random_split: the parts sum to ", sum, "; they must be fractions that sum to 1 or ",
                                  "counts that sum to the ", count, " samples");
  }
  // 0.29 * 100 is a little less than 29: what is that near to an integer is meant to be it.
  for (const double part : parts) {
    sizes.push_back(static_cast<std::int64_t>(std::floor(part * static_cast<double>(count) * (1 + 1e-12))));
  }
  std::int64_t left = count - std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  for (std::size_t i = 0; left > 0; i = (i + 1) % sizes.size()) {
    if (parts[i] == 0) continue;
    ++sizes[i];
    --left;
  }
  return sizes;
}

}  // namespace

Subset::Subset(std::shared_ptr<const Samples> samples, std::vector<std::int64_t> numbers)
    : samples_(std::move(samples)), numbers_(std::move(numbers)) {
  for (const std::int64_t number : numbers_) {
    if (number < 0 || number >= samples_->count()) {
      core::throw_error<ValueError>("Subset: there is no sample ", number, " among ", samples_->count());
    }
  }
}

HostBatch Subset::read(std::span<const std::int64_t> samples, const Key& key) const {
  std::vector<std::int64_t> numbers;
  for (const std::int64_t i : samples) numbers.push_back(numbers_[static_cast<std::size_t>(i)]);
  return samples_->read(numbers, key);
}

std::vector<Subset> random_split(std::shared_ptr<const Samples> samples, const std::vector<double>& parts,
                                 std::uint64_t seed) {
  const std::int64_t count = samples->count();
  const std::vector<std::int64_t> sizes = part_sizes(count, parts);
  BatchPosition start;
  const std::vector<std::int64_t> order = BatchOrder(count, {.size = count, .seed = seed}).take(start);
  std::vector<Subset> split;
  auto next = order.begin();
  for (const std::int64_t size : sizes) {
    split.emplace_back(samples, std::vector<std::int64_t>(next, next + size));
    next += size;
  }
  return split;
}

}  // namespace nn
}  // namespace TYTO_API
