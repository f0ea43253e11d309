// SPDX-License-Identifier: MIT
// Applies one rule to one graph: checks whether it fired, the new graph, and that no number changed.
#pragma once

#include <functional>

#include "optimiser/passes/rule.hpp"
#include "tests/passes/sketch.hpp"

namespace tyto::testing {

inline constexpr const char* passes_on_structure =
    "views,transposes,reshapes,constants,stability,algebra,reductions,cse,fma";

struct Outcome {
  core::Graph graph;
  PassReport report;
};

/// Optimises what is drawn; demands that the rule fired or did not, that the numbers stay within the tolerance, and
/// that a second time changes nothing.
Outcome expect(const std::string& rule, bool fires, const std::function<core::Port(Sketch&)>& draw,
               const Tolerance& tolerance = {}, const std::string& passes = passes_on_structure);

/// Demands that the rule was expected to fire before now and, where it has a condition, not to.
void check_seen(const optimiser::Rule& rule);

}  // namespace tyto::testing
