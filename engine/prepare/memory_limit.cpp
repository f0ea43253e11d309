// SPDX-License-Identifier: MIT
// Fits a plan into a memory limit: the graph is rewritten with recomputation until the finished plan fits.
#include <algorithm>
#include <optional>

#include "core/value/text.hpp"
#include "engine/prepare/graph_passes.hpp"
#include "engine/run/executable.hpp"
#include "optimiser/recompute/key_rows.hpp"
#include "optimiser/recompute/loop_segments.hpp"
#include "optimiser/recompute/recompute.hpp"

namespace tyto::run {

namespace {

bool groups_are_formed(const PassReport& report) {
  return std::ranges::any_of(report.passes, [](const PassSummary& pass) { return pass.pass == "fuse" && pass.runs; });
}

}  // namespace

// The search counts tensors; kernels add workspace, and plans a little waste. The target is lowered by the excess;
// where that was too much, which costs time in every run, a target in between is tried.
bool Executable::fits_with_repeated(const core::Graph& graph, const char* passes, std::size_t& smallest) {
  constexpr int attempts = 5;
  constexpr std::int64_t worth_trying = 50;  // differences of less than this part of the limit are not
  const std::size_t limit = options_.memory_limit;
  CompileOptions as_it_is = options_;
  as_it_is.passes = passes;
  as_it_is.memory_limit = 0;
  std::optional<Executable> best;
  double least = 0;           // arithmetic that the best one repeats
  std::int64_t enough = 0;    // the largest target whose plan fits
  std::int64_t too_much = 0;  // the smallest whose plan does not
  auto target = static_cast<std::int64_t>(limit);
  for (int i = 0; i < attempts && target > 0; ++i) {
    recompute::Fitted fitted = recompute::fit(graph, target);
    Executable tried(std::move(fitted.graph), *device_, as_it_is);
    smallest = std::min(smallest, tried.arena_bytes_);
    if (tried.arena_bytes_ <= limit) {
      enough = target;
      if (!best || fitted.extra_flops < least) {
        least = fitted.extra_flops;
        best.emplace(std::move(tried));
      }
    } else {
      too_much = target;
      if (!best && !fitted.fits) break;
      // Where far fewer bytes are alive than the target allows, less of the target changes nothing.
      target = std::min(target, fitted.peak) - static_cast<std::int64_t>(tried.arena_bytes_ - limit);
    }
    if (!best) continue;
    if (too_much - enough < static_cast<std::int64_t>(limit) / worth_trying) break;
    target = enough + (too_much - enough) / 2;
  }
  if (!best) return false;
  become(std::move(*best));
  return true;
}

// The loop that keeps most in segments, then the next one, until it fits; of the last as few iterations as will do. All
// iterations in segments need least, save where they are few.
bool Executable::fits_with_segments(core::Graph& least, std::size_t& smallest) {
  constexpr int attempts = 4;
  constexpr std::size_t candidates = 3;
  constexpr double shares[] = {1, 0.75, 0.5, 0.25};
  const std::size_t limit = options_.memory_limit;
  CompileOptions as_it_is = options_;
  as_it_is.passes = as_recorded;
  as_it_is.memory_limit = 0;
  least = recompute::with_key_rows(graph_);
  if (recompute::loop_pairs(least).empty()) least = core::Graph(graph_);
  std::size_t bytes = arena_bytes_;
  for (;;) {
    const std::vector<recompute::LoopPair> pairs = recompute::loop_pairs(least);
    std::optional<Executable> best;
    core::Graph graph;
    double enough = 0;
    std::size_t chosen = 0;
    // The bytes that a pair keeps bound what it can save; a pair in a region need not be alive at the peak.
    for (; chosen < std::min(candidates, pairs.size()); ++chosen) {
      best.reset();
      for (const double share : shares) {
        const recompute::LoopSegments segments = recompute::segments_of(pairs[chosen], share);
        if (segments.count == 0) break;
        core::Graph rewritten = recompute::with_segments(least, pairs[chosen], segments);
        Executable tried(core::Graph(rewritten), *device_, as_it_is);
        if (best && tried.arena_bytes_ >= best->arena_bytes_) continue;
        best.emplace(std::move(tried));
        graph = std::move(rewritten);
        enough = share;
        if (best->arena_bytes_ <= limit) break;
      }
      if (!best) continue;
      smallest = std::min(smallest, best->arena_bytes_);
      if (best->arena_bytes_ < bytes) break;
      best.reset();
    }
    if (!best) return false;
    if (best->arena_bytes_ > limit) {
      bytes = best->arena_bytes_;
      least = std::move(graph);
      continue;
    }
    double too_little = 0;
    for (int i = 0; i < attempts; ++i) {
      // The bytes kept fall about with the share of the iterations.
      const double saved = static_cast<double>(bytes) - static_cast<double>(best->arena_bytes_);
      const double guess = i == 0 ? static_cast<double>(bytes - limit) / saved * 1.02 : (enough + too_little) / 2;
      const recompute::LoopSegments fewer = recompute::segments_of(pairs[chosen], guess);
      if (fewer.count == 0 || guess >= enough || guess <= too_little || enough - too_little < 0.05) break;
      Executable tried(recompute::with_segments(least, pairs[chosen], fewer), *device_, as_it_is);
      if (tried.arena_bytes_ > limit) {
        too_little = guess;
        continue;
      }
      enough = guess;
      best.emplace(std::move(tried));
    }
    become(std::move(*best));
    return true;
  }
}

void Executable::become(Executable&& other) {
  other.options_ = std::move(options_);
  other.passes_ = std::move(passes_);
  *this = std::move(other);
}

void Executable::fit_into_limit(core::Graph recorded) {
  const std::size_t limit = options_.memory_limit;
  std::size_t smallest = arena_bytes_;
  core::Graph least;
  if (fits_with_segments(least, smallest)) return;
  if (groups_are_formed(passes_)) {
    // A group is made again as a whole, for whichever of its results; so values are chosen first and groups formed of
    // what comes out. Other passes have been through it, and common sub-expressions would undo the recomputation.
    CompileOptions apart = options_;
    apart.passes += apart.passes.empty() ? "-fuse" : ",-fuse";
    apart.dump = nullptr;
    PassReport unread;
    const core::Graph graph = optimised(std::move(recorded), *device_, apart, unread);
    if (fits_with_repeated(graph, "fuse", smallest)) return;
  }
  if (fits_with_repeated(least, as_recorded, smallest)) return;
  core::throw_error<DeviceError>("compile: a memory limit of ", limit, " bytes cannot be met: the plan needs ",
                                 arena_bytes_, " bytes, with values computed twice at least ", smallest);
}

}  // namespace tyto::run
