// When results count as equal: bit for bit, or as near as rounding can have brought them.
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

/// The same, except for elements that chance rounding moves as far as that: `noisy` holds the histories of programs
/// whose operands were moved by a few last places. The result's own operation may be off by `places` last places.
std::string difference(const History& expected, const History& found, const std::vector<History>& noisy,
                       double places = 4);

/// The same, except for elements that hang on a sign that is open: those that are another number in one of `resigned`,
/// histories of programs in which such signs were drawn by chance and nothing else was moved.
std::string difference_beyond_open_signs(const History& expected, const History& found,
                                         const std::vector<History>& resigned);

}  // namespace tyto::fuzz
