// SPDX-License-Identifier: MIT
// Compares results: bit for bit, or within rounding.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/program.hpp"

namespace tyto::fuzz {

/// Outputs and states after a run.
struct Snapshot {
  std::vector<Data> outputs;
  std::vector<Data> states;
};
/// After each run of a trial.
using History = std::vector<Snapshot>;

/// Two results that differ: which, where, how. Empty when none does. Zeros of either sign are equal, and all NaN.
std::string difference(const History& expected, const History& found);

/// Two results that differ in their bits, NaN counting as one value.
std::string difference_in_bits(const History& expected, const History& found);

/// The same as `difference`, except for elements that chance rounding moves as far as that: `noisy` holds the histories
/// of programs whose operands were moved by a few last places. The result's own operation may be off by `places` last
/// places. Where an element is another number in one of `chosen` (see below), it may be as near to that one, or not
/// finite if that is not.
std::string difference(const History& expected, const History& found, const std::vector<History>& noisy,
                       double places = 4, const std::vector<History>& chosen = {});

/// The same, except for elements that depend on what is open (signs and gradients of zero, see Noise): those that are
/// what they are in one of `chosen`, histories of programs in which that was drawn by chance and nothing else was
/// moved.
std::string difference_beyond_choices(const History& expected, const History& found,
                                      const std::vector<History>& chosen);

}  // namespace tyto::fuzz
