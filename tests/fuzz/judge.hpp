// SPDX-License-Identifier: MIT
// Judges whether a way of running a program gave an allowed result.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/runs.hpp"

namespace tyto::fuzz {

/// Histories of the program with operands moved by chance, made when they are first asked for.
class NoisyHistories {
 public:
  enum class Kind {
    rounded,         // as kernels round
    open_gradients,  // open gradients alone
    resigned,        // open gradients and signs alone
    summed,          // as operators are off that round once an operation and add in any order
    computed,        // as operators of another device may be off
  };

  NoisyHistories(const Trial& trial, const Material& material, std::size_t runs, Kind kind, bool alike = true)
      : trial_(trial), material_(material), runs_(runs), kind_(kind), alike_(alike) {}

  const std::vector<History>& at_least(std::size_t count);

 private:
  const Trial& trial_;
  const Material& material_;
  std::size_t runs_;
  Kind kind_;
  bool alike_;
  std::vector<History> histories_;
};

/// The results of eager mode, and the differences from it that are allowed.
class Judge {
 public:
  Judge(const Trial& trial, const Material& material, const History& expected, const Program<Eager>& program,
        const std::vector<std::size_t>& times, const Excuses& excuses = {});

  /// Of a history from another device. Errors are drawn up to the largest that operators may make, so of n programs
  /// with such errors the largest effect is below an eighth of what one error can do with a probability of 8^-n; where
  /// many have a say, their effects add up by chance in the same way.
  std::string verdict_of_device(Faith faith, const History& found, TrialCount& count);

  /// Describes a fault in the history of a way of running, or returns nothing.
  std::string verdict(Faith faith, const History& found, TrialCount& count);

  /// Of a way that changes no bits, where views crossed the borders of regions: they are dense in both graphs.
  std::string verdict_of_bits(const History& without_passes, const History& found, TrialCount& count);

 private:
  // Histories: nearly always few explain what there is to explain.
  static constexpr std::size_t few_first[] = {6, 30, 150};

  // Differences that neither rounding nor, after regions, unspecified gradients explain.
  std::string beyond_rounding(NoisyHistories& noisy, std::size_t enough, double places, NoisyHistories& choices,
                              const History& found);

  const History& expected_;
  bool finite_;
  bool dense_borders_;
  Excuses excuses_;
  bool adds_up_;
  bool shows_open_signs_;
  bool shows_open_gradients_;
  NoisyHistories rounded_;
  NoisyHistories open_gradients_;
  NoisyHistories resigned_;
  NoisyHistories summed_;
  NoisyHistories computed_;
};

}  // namespace tyto::fuzz
