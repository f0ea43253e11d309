// SPDX-License-Identifier: MIT
// One random program, run in every way that must not matter, against eager mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tyto::fuzz {

struct Trial {
  std::uint64_t seed = 1;
  std::int64_t moves = 20;
  bool regions = false;  ///< every other move a loop or branch, small tensors, a few of the ways in turn
};

/// Statistics of the programs tried.
struct TrialCount {
  std::size_t graphs = 0;  ///< one a program on the CPU, one a program and way on another device
  std::size_t runs = 0;
  std::size_t nodes = 0;            ///< recorded
  std::size_t refused = 0;          ///< moves that the library refused, in both modes alike
  std::size_t within_rounding = 0;  ///< results that differed from eager mode's, by no more than rounding explains
  std::size_t by_choices = 0;  ///< results to be equal that differed where a sign or gradient that is open was seen
  std::vector<std::size_t> operators = {};            ///< times recorded, by OpId
  std::map<std::string, std::size_t> rules = {};      ///< rewrite rules, and how often they fired
  std::map<std::string, std::size_t> fallbacks = {};  ///< operators that another device left to the CPU, and how often
};

/// A trial as the seed alone gives it: mostly small programs, some of 200 moves.
Trial trial_of(std::uint64_t seed);

/// A small program of loops and branches.
Trial region_trial_of(std::uint64_t seed);

/// A small program for another device, whose driver compiles kernels for each: of one to six moves.
Trial device_trial_of(std::uint64_t seed);

/// What rounding is looked for in beside operands that are moved each by itself. Without, programs are called faults
/// that are none; tests ask whether theirs is one of them.
struct Excuses {
  bool equals_alike = true;   ///< equal operands that move together, see Noise
  bool operators_off = true;  ///< operators that are off by what they may round, see RoundingErrors
};

/// Describes the fault that a trial found, or returns nothing.
std::optional<std::string> fault_of(const Trial& trial, TrialCount& count, const Excuses& excuses = {});

/// What went wrong on another device, or nothing: a graph without passes, then one with all, beside eager mode on the
/// CPU. The device may be off by what its functions are documented to be off by, by what the theory
/// of each operator allows, and by what becomes of that: see RoundingErrors.
std::optional<std::string> fault_on(const std::string& device, const Trial& trial, TrialCount& count);

/// The same of many programs, with the fewest moves that go wrong. Those that draw no random numbers run as one graph,
/// as what a driver's compiler takes to begin is most of what a small program costs.
std::vector<std::string> faults_on(const std::string& device, std::span<const Trial> trials, TrialCount& count);

/// The fewest moves of the same seed that go wrong in some way, and the program they make; on another device, if one
/// is named.
std::string smallest_fault(const Trial& trial, const std::string& device = "cpu");

}  // namespace tyto::fuzz
