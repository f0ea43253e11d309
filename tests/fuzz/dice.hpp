// SPDX-License-Identifier: MIT
// Random choices that are the same on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace tyto::fuzz {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  /// 0 ... limit - 1; 0 for an empty range.
  std::int64_t below(std::int64_t limit) {
    return limit <= 0 ? 0 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool one_in(std::int64_t count) { return below(count) == 0; }
  double real(double low, double high) { return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53; }
  std::uint64_t seed() { return random_(); }

  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<std::int64_t>(choices.size()))];
  }
  template <class List>
  const auto& from(const List& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace tyto::fuzz
