// SPDX-License-Identifier: MIT
// Compares histories element by element.
#include "tests/fuzz/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/value/text.hpp"

namespace tyto::fuzz {

namespace {

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

double last_place(const Data& data) {
  switch (data.dtype) {
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    case DType::f32: return 0x1p-23;
    case DType::f64: return 0x1p-52;
    default: return 0;
  }
}

// Below this, what differs may be only what went through the smallest numbers of the type on its way.
double next_to_nothing(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-22;
    case DType::f64: return 1e-290;
    default: return 1e-25;
  }
}

// Integers beyond 2^53 have no double of their own, so they are compared as bytes first.
bool same_element(const Data& a, const Data& b, std::size_t i) {
  const std::size_t width = size_of(a.dtype);
  if (std::memcmp(a.bytes.data() + i * width, b.bytes.data() + i * width, width) == 0) return true;
  return is_floating(a.dtype) && same_number(a.at(i), b.at(i));
}

// The same bits, NaN counting as one value.
bool same_bits(const Data& a, const Data& b, std::size_t i) {
  const std::size_t width = size_of(a.dtype);
  if (std::memcmp(a.bytes.data() + i * width, b.bytes.data() + i * width, width) == 0) return true;
  return is_floating(a.dtype) && std::isnan(a.at(i)) && std::isnan(b.at(i));
}

// The rounding error of a number of some type, beyond the change that noise made.
struct Reach {
  double place;      // last place of the type; 0: an integer
  double own_error;  // of the last operation, relative
  double nothing;    // absolute
};

// Whether noise explains that `found` is not `expected`, or not one of the numbers that open choices make of it.
template <class NoisyAt, class ChosenAt>
bool explained(double expected, double found, const Reach& reach, std::size_t draws, const NoisyAt& noisy_at,
               std::size_t choices, const ChosenAt& chosen_at) {
  double spread = 0;
  for (std::size_t k = 0; k < draws; ++k) {
    const double moved = noisy_at(k);
    if (std::isfinite(moved) != std::isfinite(expected)) return true;
    if (!std::isfinite(expected)) {
      if (!same_number(moved, expected)) return true;
      continue;
    }
    spread = std::max(spread, std::abs(moved - expected));
  }
  const auto is_near = [&](double number) {
    return std::abs(found - number) <= 8 * spread + reach.own_error * std::abs(number) + reach.nothing;
  };
  for (std::size_t k = 0; k < choices; ++k) {
    const double chosen = chosen_at(k);
    if (same_number(chosen, expected)) continue;
    if (same_number(chosen, found) || (!std::isfinite(chosen) && !std::isfinite(found))) return true;
    if (reach.place != 0 && std::isfinite(chosen) && std::isfinite(found) && is_near(chosen)) return true;
  }
  if (!std::isfinite(expected) || !std::isfinite(found)) return false;
  return reach.place == 0 ? spread > 0 : is_near(expected);
}

using Pick = std::vector<Data> Snapshot::*;

/// `same(a, b, i)` says whether element i of two results counts as the same, `excused(run, pick, r, i)` whether it may
/// differ.
template <class Same, class Excused>
std::string difference_in(Pick pick, const char* what, const History& expected, const History& found, const Same& same,
                          const Excused& excused) {
  for (std::size_t run = 0; run < found.size(); ++run) {
    for (std::size_t r = 0; r < (expected[run].*pick).size(); ++r) {
      const Data& a = (expected[run].*pick)[r];
      const Data& b = (found[run].*pick)[r];
      const std::string where = core::text(what, " ", r, " of run ", run);
      if (a.dtype != b.dtype || a.shape != b.shape) {
        return core::text(where, ": ", b.dtype, " ", b.shape, " instead of ", a.dtype, " ", a.shape);
      }
      if (a.bytes == b.bytes) continue;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (same(a, b, i) || excused(run, pick, r, i)) continue;
        std::string text = core::text(where, ", element ", i, " of ", a.dtype, " ", a.shape, ": ");
        char numbers[80];
        std::snprintf(numbers, sizeof numbers, "%.17g instead of %.17g", b.at(i), a.at(i));
        return text + numbers;
      }
    }
  }
  return {};
}

template <class Same, class Excused>
std::string difference_unless(const History& expected, const History& found, const Same& same, const Excused& excused) {
  std::string text = difference_in(&Snapshot::outputs, "output", expected, found, same, excused);
  return text.empty() ? difference_in(&Snapshot::states, "state", expected, found, same, excused) : text;
}

bool never(std::size_t, Pick, std::size_t, std::size_t) { return false; }

}  // namespace

std::string difference(const History& expected, const History& found) {
  return difference_unless(expected, found, same_element, never);
}

std::string difference_in_bits(const History& expected, const History& found) {
  return difference_unless(expected, found, same_bits, never);
}

std::string difference(const History& expected, const History& found, const std::vector<History>& noisy, double places,
                       const std::vector<History>& chosen) {
  return difference_unless(expected, found, same_element,
                           [&](std::size_t run, Pick pick, std::size_t r, std::size_t i) {
                             const Data& a = (expected[run].*pick)[r];
                             const auto at = [&](const History& history) { return (history[run].*pick)[r].at(i); };
                             const Reach reach{last_place(a), places * last_place(a), next_to_nothing(a.dtype)};
                             return explained(
                                 a.at(i), at(found), reach, noisy.size(), [&](std::size_t k) { return at(noisy[k]); },
                                 chosen.size(), [&](std::size_t k) { return at(chosen[k]); });
                           });
}

std::string difference_beyond_choices(const History& expected, const History& found,
                                      const std::vector<History>& chosen) {
  return difference_unless(expected, found, same_element,
                           [&](std::size_t run, Pick pick, std::size_t r, std::size_t i) {
                             return std::ranges::any_of(chosen, [&](const History& history) {
                               return same_element((found[run].*pick)[r], (history[run].*pick)[r], i);
                             });
                           });
}

}  // namespace tyto::fuzz
