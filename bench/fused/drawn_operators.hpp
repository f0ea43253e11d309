// SPDX-License-Identifier: MIT
// The operators that random programs are drawn from, and the ranges of their results.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "core/graph/operator.hpp"

namespace tyto::bench {

struct Interval {
  double low, high;

  bool within(double least, double most) const { return low >= least && high <= most; }
  bool without_zero() const { return low >= 0.05 || high <= -0.05; }
  double size() const { return std::max(std::abs(low), std::abs(high)); }
  bool overlaps(Interval other) const { return low < other.high && other.low < high; }
};

/// An operator, how often it is drawn, and the interval of its results; that is empty (low > high) for operands that
/// it does not take.
struct Choice {
  core::OpId op;
  int weight;
  Interval (*result)(Interval a, Interval b);
};

/// Integers of programs lie within this.
inline constexpr double whole_bound = 1e9;

std::span<const Choice> floating_choices();
std::span<const Choice> integer_choices();

}  // namespace tyto::bench
