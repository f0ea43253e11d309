// SPDX-License-Identifier: MIT
// The tables of rules, for documentation and tests.
#pragma once

#include <span>

#include "optimiser/passes/rule.hpp"

namespace tyto::optimiser {

std::span<const Rule> algebra_rules();
std::span<const Rule> stability_rules();
std::span<const Rule> view_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> padding_rules();
std::span<const Rule> transpose_rules();
std::span<const Rule> reshape_rules();
std::span<const Rule> scaling_rules();
std::span<const Rule> contraction_rules();
std::span<const Rule> epilogue_rules();

struct RuleFamily {
  std::string_view pass;
  std::span<const Rule> rules;
};

/// Every table, by the pass that applies it.
std::span<const RuleFamily> rule_families();

/// A rewrite of loops or branches.
struct RegionRule {
  std::string_view pass;
  std::string_view name;
  std::string_view before;
  std::string_view after;
  std::string_view when;
};

std::span<const RegionRule> region_rules();

}  // namespace tyto::optimiser
