// SPDX-License-Identifier: MIT
// Runs rounds of passes until nothing changes, and records what they did.
#include "optimiser/passes/optimise.hpp"

#include <chrono>
#include <ostream>

#include "core/value/text.hpp"
#include "optimiser/passes/pass.hpp"
#include "optimiser/passes/pass_selection.hpp"

namespace tyto::optimiser {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Each rule makes its graph smaller or cheaper, so rounds end by themselves; this limit exposes pairs of rules that
// undo each other.
constexpr std::size_t most_rounds = 1000;

/// One optimisation: the passes that were chosen, and the account of what they do.
class Run {
 public:
  Run(const PassOptions& options, PassReport& account) : options_(options), account_(account) {
    for (const std::string& text : options.passes) selection_.apply(text);
    for (const Pass& pass : passes_) account.passes.push_back({std::string(pass.name)});
  }

  // Fusing epilogues and groups may enable rules, and these may enable fusion: both alternate until nothing changes.
  core::Graph all(core::Graph graph) {
    for (bool changed = true; changed;) {
      GraphEditor editor(std::move(graph));
      rounds(editor);
      changed = settled(editor);
      graph = editor.finish();
      changed = rebuilt(graph) || changed;
    }
    return graph;
  }

 private:
  bool runs(std::size_t i, Pass::Phase phase) const {
    return passes_[i].run != nullptr && passes_[i].phase == phase && selection_.is_on(i);
  }

  void rounds(GraphEditor& editor) {
    // Edits there had been when a pass last began: when there are no more now, neither it nor another made any since.
    std::vector<std::uint64_t> seen(passes_.size(), UINT64_MAX);
    for (bool changed = true; changed;) {
      changed = false;
      if (++account_.rounds > most_rounds) throw GraphError("optimise: passes keep undoing each other's work");
      for (std::size_t i = 0; i < passes_.size(); ++i) {
        if (!runs(i, Pass::Phase::rounds) || seen[i] == editor.edits()) continue;
        seen[i] = editor.edits();
        if (!edited(editor, i)) continue;
        changed = true;
        if (options_.dump) seen.assign(passes_.size(), UINT64_MAX);
      }
    }
  }

  bool settled(GraphEditor& editor) {
    bool changed = false;
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      if (runs(i, Pass::Phase::settled)) changed = edited(editor, i) || changed;
    }
    return changed;
  }

  /// Runs one pass on the editor; whether it changed anything.
  bool edited(GraphEditor& editor, std::size_t i) {
    const Clock::time_point began = Clock::now();
    const std::uint64_t before = editor.edits();
    const std::size_t size = editor.size();
    PassSummary& summary = account_.passes[i];
    PassContext context(editor, options_, selection_.fast_math(), summary.rules);
    passes_[i].run(context);
    ++summary.runs;
    if (editor.size() < size) summary.nodes_removed += size - editor.size();
    summary.milliseconds += milliseconds_since(began);
    if (editor.edits() == before) return false;
    if (options_.dump) {
      core::Graph graph = editor.finish();
      options_.dump(passes_[i].name, core::to_text(graph));
      editor = GraphEditor(std::move(graph));
    }
    return true;
  }

  /// Runs the passes that make a new graph; whether one of them changed anything.
  bool rebuilt(core::Graph& graph) {
    bool changed = false;
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      if (passes_[i].rebuild == nullptr || !selection_.is_on(i)) continue;
      const Clock::time_point began = Clock::now();
      const std::size_t size = graph.nodes().size();
      PassSummary& summary = account_.passes[i];
      std::vector<RuleCount> rules;
      graph = passes_[i].rebuild(std::move(graph), options_, rules);
      ++summary.runs;
      if (graph.nodes().size() < size) summary.nodes_removed += size - graph.nodes().size();
      for (const RuleCount& rule : rules) count_rule(summary.rules, rule.rule, rule.count);
      summary.milliseconds += milliseconds_since(began);
      if (rules.empty()) continue;
      changed = true;
      if (options_.dump) options_.dump(passes_[i].name, core::to_text(graph));
    }
    return changed;
  }

  const PassOptions& options_;
  PassReport& account_;
  PassSelection selection_;
  std::span<const Pass> passes_ = pass_table();
};

}  // namespace

core::Graph optimise(core::Graph graph, const PassOptions& options, PassReport* report) {
  const Clock::time_point start = Clock::now();
  PassReport account;
  Run run(options, account);
  account.nodes_before = graph.nodes().size();
  if (options.dump) options.dump("before", core::to_text(graph));
  core::Graph done = run.all(std::move(graph));
  account.nodes_after = done.nodes().size();
  account.milliseconds = milliseconds_since(start);
  if (report != nullptr) *report = std::move(account);
  return done;
}

}  // namespace tyto::optimiser

namespace tyto TYTO_API {

std::size_t PassReport::fired(const std::string& rule) const {
  std::size_t count = 0;
  for (const PassSummary& pass : passes) {
    for (const RuleCount& each : pass.rules) {
      if (each.rule == rule) count += each.count;
    }
  }
  return count;
}

std::size_t PassReport::fired() const {
  std::size_t count = 0;
  for (const PassSummary& pass : passes) {
    for (const RuleCount& each : pass.rules) count += each.count;
  }
  return count;
}

std::ostream& operator<<(std::ostream& out, const PassReport& report) {
  out << report.nodes_before << " nodes -> " << report.nodes_after << " in " << report.rounds << " rounds, "
      << report.milliseconds << " ms\n";
  for (const PassSummary& pass : report.passes) {
    if (pass.rules.empty()) continue;
    out << "  " << pass.pass << ": " << pass.nodes_removed << " nodes fewer, " << pass.milliseconds << " ms\n";
    for (const RuleCount& rule : pass.rules) out << "    " << rule.rule << " x " << rule.count << '\n';
  }
  return out;
}

}  // namespace TYTO_API
