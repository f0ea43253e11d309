// SPDX-License-Identifier: MIT
// exact: branch and bound for ever smaller capacities until the best plan meets a proven bound.
#include "optimiser/memory/portfolio.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

// Long enough for every instance that is likely to be solved at all.
constexpr std::int64_t search_work = 100'000'000'000;

Placement exact_part(const Problem& p, const Effort& effort) {
  Placement start = best_sweep(p, effort);
  if (start.height <= effort.enough) return start;
  const Problem listed = with_neighbours(p);
  if (!listed.listed) return start;
  start = best_greedy(listed, effort, std::move(start));
  if (start.height <= effort.enough) return start;
  return search_between(listed, effort, std::move(start), effort.work_or(search_work));
}

}  // namespace

Placement exact(const Problem& p, const Effort& effort) { return by_parts(p, effort, exact_part); }

}  // namespace tyto::memory
