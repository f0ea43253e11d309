// SPDX-License-Identifier: MIT
// The result of a strategy, and the effort that it may spend.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/value/hash.hpp"
#include "optimiser/memory/problem.hpp"

namespace tyto::memory {

/// Offsets in units, one for each block of a Problem.
struct Placement {
  std::vector<Bytes> offsets;
  Bytes height = std::numeric_limits<Bytes>::max();
  Bytes proven_bound = 0;  // a bound that the search proved, if it is better than the problem's
  std::string remark;      // how a composite strategy got there
};

/// Height of a set of offsets.
Bytes height_of(const Problem& problem, const std::vector<Bytes>& offsets);

using Clock = std::chrono::steady_clock;

/// About two milliseconds, which any plan is worth.
inline constexpr std::int64_t least_work = 2'000'000;

/// How much a search may do. Work is counted, so that the same request gives the same plan on every machine;
/// only a caller who names a time limit gets the clock.
struct Effort {
  std::int64_t work = 0;           // 0: the strategy's own default
  std::int64_t work_per_unit = 0;  // of that, what one unit less is worth; 0: all of it
  std::optional<Clock::time_point> deadline = {};
  std::uint64_t seed = 1;
  int threads = 1;
  Bytes enough = 0;  // stop at a height of this or less

  std::int64_t work_or(std::int64_t fallback) const {
    if (work > 0) return work;
    return deadline ? std::numeric_limits<std::int64_t>::max() / 4 : fallback;
  }
  /// The work that a plan lower by `gain` is worth; a little always is.
  Effort worth_of(Bytes gain) const {
    Effort limited = *this;
    if (work_per_unit > 0 && gain < work / work_per_unit) {
      limited.work = std::max(std::min(work, least_work), gain * work_per_unit);
    }
    return limited;
  }
  bool late() const { return deadline && Clock::now() >= *deadline; }
};

/// A small, fast generator with the same numbers on every platform.
class RandomBits {
 public:
  explicit RandomBits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    const std::uint64_t bits = core::splitmix64(state_);
    state_ += core::splitmix_step;
    return bits;
  }
  /// A random number in [0, limit).
  std::size_t below(std::size_t limit) {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(static_cast<std::uint32_t>(next() >> 32)) * limit) >>
                                    32);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace tyto::memory
