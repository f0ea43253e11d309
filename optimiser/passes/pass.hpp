// SPDX-License-Identifier: MIT
// One pass: a name, what it does, and a function that works on a graph editor.
#pragma once

#include <span>
#include <string_view>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/graph_editor.hpp"
#include "optimiser/passes/optimise.hpp"

namespace tyto::optimiser {

inline void count_rule(std::vector<RuleCount>& counts, std::string_view rule, std::size_t times) {
  for (RuleCount& each : counts) {
    if (each.rule == rule) {
      each.count += times;
      return;
    }
  }
  counts.push_back({std::string(rule), times});
}

/// The context of a pass, in which it also records the rules that it applied.
class PassContext {
 public:
  PassContext(GraphEditor& edited, const PassOptions& given, bool fast, std::vector<RuleCount>& counts)
      : editor(edited), options(given), fast_math(fast), counts_(counts) {}

  GraphEditor& editor;
  const PassOptions& options;
  /// Whether results may differ in rounding, in the sign of zero, and for NaN and infinity.
  bool fast_math;

  void fired(std::string_view rule, std::size_t times = 1) { count_rule(counts_, rule, times); }

 private:
  std::vector<RuleCount>& counts_;
};

struct Pass {
  /// Passes of the rounds run until none of them changes anything, then those for what has settled once, and all
  /// again if these found something.
  enum class Phase : std::uint8_t { rounds, settled };

  std::string_view name;
  std::string_view doc;
  void (*run)(PassContext& context) = nullptr;
  bool on = true;
  Phase phase = Phase::rounds;
  /// A pass without `run` makes a new graph, last of all; rules stay empty when it is the old one.
  core::Graph (*rebuild)(core::Graph graph, const PassOptions& options, std::vector<RuleCount>& rules) = nullptr;
};

/// All passes in the order in which they run.
std::span<const Pass> pass_table();

/// Whether equal operands give equal results: no user's function, which may have state, no input of the graph, and
/// nothing with an effect.
inline bool depends_on_operands_only(const core::GraphNode& node) {
  return node.op != core::OpId::read && !core::has_effect(node) && !core::calls_user_function(node);
}

// Passes that are no tables of rules, each in the file of its name.
void remove_dead_code(PassContext& context);
void merge_common_subexpressions(PassContext& context);
void multiply_bytes(PassContext& context);
void fold_constants(PassContext& context);
void simplify_regions(PassContext& context);
void hoist_invariants(PassContext& context);
void absorb_epilogues(PassContext& context);
void pack_weights(PassContext& context);
void form_buckets(PassContext& context);
core::Graph fuse_groups(core::Graph graph, const PassOptions& options, std::vector<RuleCount>& rules);

}  // namespace tyto::optimiser
