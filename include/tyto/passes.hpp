// What the graph optimiser did: its passes, the rules that fired, sizes before and after.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// A rule and how often it was applied.
struct RuleCount {
  std::string rule;
  std::size_t count = 0;
};

/// One pass over all its rounds.
struct PassSummary {
  std::string pass;
  std::size_t runs = 0;           ///< rounds in which it looked at the graph
  std::size_t nodes_removed = 0;  ///< those that it added taken off; may be negative and is then 0
  double milliseconds = 0;
  std::vector<RuleCount> rules = {};
};

/// What optimising one graph did. `std::cout << report` prints a table.
struct PassReport {
  std::size_t nodes_before = 0;
  std::size_t nodes_after = 0;
  std::size_t rounds = 0;
  double milliseconds = 0;
  std::vector<PassSummary> passes = {};

  /// How often a rule was applied, in all passes.
  std::size_t fired(const std::string& rule) const;
  /// How often any rule was applied.
  std::size_t fired() const;
};

std::ostream& operator<<(std::ostream& out, const PassReport& report);

/// A pass as CompileOptions::passes and TYTO_PASSES name it.
struct PassDescription {
  std::string name;
  std::string doc;
  bool on = true;  ///< unless switched
};

/// All passes in the order in which they run, and last the options of the arithmetic (`fast_math`).
std::vector<PassDescription> graph_passes();

}  // namespace TYTO_API
