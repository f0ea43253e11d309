// SPDX-License-Identifier: MIT
// Reports of the graph optimiser: its passes, the rules that fired, sizes before and after.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// A rule and how often it was applied.
struct RuleCount {
  std::string rule;       ///< its name
  std::size_t count = 0;  ///< how often it applied
};

/// One pass over all its rounds.
struct PassSummary {
  std::string pass;                   ///< its name
  std::size_t runs = 0;               ///< rounds in which it looked at the graph
  std::size_t nodes_removed = 0;      ///< those that it added taken off; may be negative and is then 0
  double milliseconds = 0;            ///< time taken
  std::vector<RuleCount> rules = {};  ///< that applied
};

/// Report of optimising one graph. `std::cout << report` prints a table.
struct PassReport {
  std::size_t nodes_before = 0;          ///< of the recorded graph
  std::size_t nodes_after = 0;           ///< of the optimised graph
  std::size_t rounds = 0;                ///< until nothing changed
  double milliseconds = 0;               ///< time taken
  std::vector<PassSummary> passes = {};  ///< in the order in which they ran

  /// How often a rule was applied, in all passes.
  std::size_t fired(const std::string& rule) const;
  /// How often any rule was applied.
  std::size_t fired() const;
};

/// The report as a table.
std::ostream& operator<<(std::ostream& out, const PassReport& report);

/// A pass as CompileOptions::passes and TYTO_PASSES name it.
struct PassDescription {
  std::string name;  ///< what it is called
  std::string doc;   ///< what it does, in a sentence
  bool on = true;    ///< unless switched
};

/// All passes in the order in which they run, and last the options of the arithmetic (`fast_math`).
std::vector<PassDescription> graph_passes();

}  // namespace TYTO_API
