// Rounds of passes until nothing changes, with the account of what they did.
#include "optimiser/passes/optimise.hpp"

#include <chrono>
#include <ostream>

#include "engine/core/text.hpp"
#include "optimiser/passes/pass.hpp"
#include "optimiser/passes/selection.hpp"

namespace tyto::optimiser {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Each rule makes its graph smaller or cheaper, so rounds end by themselves; a pair of rules that undo each other
// would not, and is to be found rather than waited for.
constexpr std::size_t most_rounds = 1000;

// The passes that edit a draft, round after round until none changes anything.
core::Graph rewritten(core::Graph graph, const PassSelection& selection, const PassOptions& options,
                      PassReport& account) {
  const std::span<const Pass> passes = pass_table();
  Draft draft(std::move(graph));
  // Edits there had been when a pass last began: when there are no more now, neither it nor another made any since.
  std::vector<std::uint64_t> seen(passes.size(), UINT64_MAX);
  for (bool changed = true; changed;) {
    changed = false;
    if (++account.rounds > most_rounds) throw GraphError("optimise: passes keep undoing each other's work");
    for (std::size_t i = 0; i < passes.size(); ++i) {
      if (passes[i].run == nullptr || !selection.is_on(i) || seen[i] == draft.edits()) continue;
      const Clock::time_point began = Clock::now();
      const std::uint64_t before = draft.edits();
      const std::size_t size = draft.size();
      PassSummary& summary = account.passes[i];
      PassContext context(draft, options, selection.fast_math(), summary.rules);
      passes[i].run(context);
      seen[i] = before;
      ++summary.runs;
      if (draft.size() < size) summary.nodes_removed += size - draft.size();
      summary.milliseconds += milliseconds_since(began);
      if (draft.edits() == before) continue;
      changed = true;
      if (options.dump) {
        graph = draft.finish();
        options.dump(passes[i].name, core::to_text(graph));
        draft = Draft(std::move(graph));
        seen.assign(passes.size(), UINT64_MAX);
      }
    }
  }
  return draft.finish();
}

// The passes that make a new graph, once; whether one of them changed anything.
bool rebuilt(core::Graph& graph, const PassSelection& selection, const PassOptions& options, PassReport& account) {
  const std::span<const Pass> passes = pass_table();
  bool changed = false;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (passes[i].rebuild == nullptr || !selection.is_on(i)) continue;
    const Clock::time_point began = Clock::now();
    const std::size_t size = graph.nodes().size();
    PassSummary& summary = account.passes[i];
    std::vector<RuleCount> rules;
    graph = passes[i].rebuild(std::move(graph), options, rules);
    ++summary.runs;
    if (graph.nodes().size() < size) summary.nodes_removed += size - graph.nodes().size();
    for (const RuleCount& rule : rules) count_rule(summary.rules, rule.rule, rule.count);
    summary.milliseconds += milliseconds_since(began);
    if (rules.empty()) continue;
    changed = true;
    if (options.dump) options.dump(passes[i].name, core::to_text(graph));
  }
  return changed;
}

}  // namespace

core::Graph optimise(core::Graph graph, const PassOptions& options, PassReport* report) {
  const Clock::time_point start = Clock::now();
  PassSelection selection;
  for (const std::string& text : options.passes) selection.apply(text);
  PassReport account;
  account.nodes_before = graph.nodes().size();
  if (options.dump) options.dump("before", core::to_text(graph));
  for (const Pass& pass : pass_table()) account.passes.push_back({std::string(pass.name)});

  core::Graph done = std::move(graph);
  // What rebuilding passes leave may be simplified again, and what is simplified, grouped: until neither finds
  // anything.
  do {
    done = rewritten(std::move(done), selection, options, account);
  } while (rebuilt(done, selection, options, account));
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
