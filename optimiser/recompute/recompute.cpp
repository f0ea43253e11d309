// SPDX-License-Identifier: MIT
// The search for what to keep; see the header. Every candidate is rewritten, ordered and measured, none is estimated.
#include "optimiser/recompute/recompute.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "optimiser/recompute/peak_analysis.hpp"
#include "optimiser/recompute/recompute_chain.hpp"
#include "optimiser/recompute/rewrite.hpp"
#include "optimiser/schedule/orders.hpp"
#include "optimiser/schedule/schedule.hpp"

namespace tyto::recompute {

using optimiser::Storages;
using schedule::Order;
using schedule::Problem;

namespace {

// Peak of a graph whose recorded order is good already: in that order, or with prompt updates.
std::int64_t quick_peak(const core::Graph& graph) {
  const Problem problem = schedule::make_problem(graph, Storages(graph));
  const Order order = schedule::recorded(problem);
  return std::min(footprint(problem, order).peak, footprint(problem, prompt(problem, order)).peak);
}

double total_cost(const core::Graph& graph) {
  double sum = 0;
  for (const core::GraphNode& node : graph.nodes()) {
    const core::OpDef& def = core::definition(node.op);
    if (!def.is(core::Traits::view) && !def.is(core::Traits::leaf)) sum += cost(graph, node);
  }
  return sum;
}

struct Candidate {
  core::Graph graph;
  std::int64_t peak = 0;
  double cost = 0;
};

Candidate measured(core::Graph graph) {
  Candidate candidate{std::move(graph), 0, 0};
  candidate.peak = quick_peak(candidate.graph);
  candidate.cost = total_cost(candidate.graph);
  return candidate;
}

/// Takes the candidate if it is the cheapest that fits, or, while none does, the one with the lowest peak. Returns
/// whether it fits.
bool consider(std::optional<Candidate>& best, Candidate candidate, std::int64_t limit) {
  const bool fits = candidate.peak <= limit;
  const bool best_fits = best && best->peak <= limit;
  const bool better = !best || (fits != best_fits ? fits
                                : fits            ? candidate.cost < best->cost
                                                  : candidate.peak < best->peak);
  if (better) best = std::move(candidate);
  return fits;
}

// Keeps `ends` and, while they fit, more values: the more are kept, the cheaper. Returns the peak with
// the ends alone.
std::int64_t fill(const PeakAnalysis& round, const std::vector<bool>& ends, std::int64_t limit,
                  std::optional<Candidate>& best) {
  Candidate bare = measured(round.with_kept(ends, 0));
  const std::int64_t peak = bare.peak;
  if (!consider(best, std::move(bare), limit)) return peak;
  std::size_t fits = 0;
  std::size_t too_many = round.idle() + 1;
  while (too_many - fits > 1) {
    const std::size_t middle = fits + (too_many - fits) / 2;
    (consider(best, measured(round.with_kept(ends, middle)), limit) ? fits : too_many) = middle;
  }
  return peak;
}

// Cuts chosen at once for the whole chain. The chain is a model, and so is what it says of the peak: what was missed,
// or left over, is taken off the budget for another try. It may see no way where there is one, too.
void cut_chain(const PeakAnalysis& round, std::int64_t limit, std::optional<Candidate>& best) {
  constexpr int attempts = 4;
  constexpr int generous = 8;
  const RecomputeChain chain = round.chain();
  std::int64_t budget = limit;
  for (int i = 0, tried = 0; i < generous && tried < attempts && budget > 0; ++i) {
    const std::vector<Cut> cuts = cheapest_cuts(chain, budget, round.beside());
    if (cuts.empty()) {
      if (tried != 0) break;
      budget += limit / generous;
      continue;
    }
    ++tried;
    const std::int64_t missed = fill(round, round.kept_by(cuts), limit, best) - limit;
    if (missed == 0) break;
    budget -= missed;
  }
}

void one_round(const PeakAnalysis& round, std::int64_t limit, std::optional<Candidate>& best) {
  const std::int64_t idle = round.idle_bytes();
  for (const std::int64_t segments : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48}) {
    fill(round, round.ends_of_segments(segments == 1 ? 0 : idle / segments), limit, best);
  }
  cut_chain(round, limit, best);
}

/// The cheapest rewriting that fits, or the one with the lowest peak. The lowest order has often moved work of the way
/// forwards behind the worst step, and then much is made twice; plain ones have not. What lies behind the worst step is
/// lowest where each weight's gradient becomes an update at once.
core::Graph rewritten(const core::Graph& graph, const PeakAnalysis& lowest, std::int64_t limit) {
  std::optional<Candidate> best;
  one_round(lowest, limit, best);
  for (const char* order : {"prompt_depth_first", "whole_updates"}) {
    const PeakAnalysis plain(graph, order);
    if (plain.idle() != 0) one_round(plain, limit, best);
  }
  return std::move(best->graph);
}

}  // namespace

Fitted fit(const core::Graph& graph, std::int64_t limit) {
  constexpr int rounds = 3;
  Fitted out;
  core::Graph current = graph;
  for (int i = 0; i <= rounds; ++i) {
    const PeakAnalysis round(current, "best");
    const bool lower = i == 0 || round.peak() < out.peak;
    if (!lower) break;
    core::Graph ordered = round.ordered();
    out.peak = round.peak();
    out.fits = out.peak <= limit;
    if (!out.fits && i < rounds && round.idle() != 0) current = rewritten(current, round, limit);
    out.graph = std::move(ordered);
    if (out.fits || i == rounds || round.idle() == 0) break;
  }
  out.extra_flops = total_flops(out.graph) - total_flops(graph);
  return out;
}

}  // namespace tyto::recompute
