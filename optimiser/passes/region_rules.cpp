// SPDX-License-Identifier: MIT
// Describes what passes do to loops and branches: they look into regions, which patterns of operators cannot.
#include "optimiser/passes/families.hpp"

namespace tyto::optimiser {

std::span<const RegionRule> region_rules() {
  static constexpr RegionRule rules[] = {
      {"regions", "unused_in_loop", "a loop", "the loop without carries, stacks and operands that nobody needs", ""},
      {"regions", "kept_carry", "a carry that keeps its value", "its initial value, which the body captures", ""},
      {"regions", "unused_in_branch", "a branch", "the branch without results and operands that nobody needs", ""},
      {"regions", "known_arm", "a branch", "the arm that it chooses",
       "its number is known, or it has one arm; it draws no random numbers"},
      {"hoist", "hoisted", "in a loop's body, what depends on captures alone", "a capture, computed before the loop",
       "no view and no constant; an element-wise operator makes no more of what it is given; no user's function; no "
       "loop that may not end"},
  };
  return rules;
}

}  // namespace tyto::optimiser
