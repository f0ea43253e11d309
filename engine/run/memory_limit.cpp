// Keeping within a memory limit: the graph is rewritten with recomputation until the finished plan fits.
#include <algorithm>

#include "engine/core/text.hpp"
#include "engine/run/executable.hpp"
#include "engine/run/graph_passes.hpp"
#include "optimiser/recompute/recompute.hpp"

namespace tyto::run {

// The search counts tensors; kernels add workspace, and plans a little waste. What was missed is taken off the target.
void Executable::fit_into_limit() {
  constexpr int attempts = 4;
  const std::size_t limit = options_.memory_limit;
  CompileOptions as_it_is = options_;
  as_it_is.passes = as_recorded;  // common sub-expressions would undo the recomputation
  as_it_is.memory_limit = 0;
  std::size_t smallest = arena_bytes_;
  auto target = static_cast<std::int64_t>(limit);
  for (int i = 0; i < attempts && target > 0; ++i) {
    recompute::Fitted fitted = recompute::fit(graph_, target);
    Executable tried(std::move(fitted.graph), *device_, as_it_is);
    smallest = std::min(smallest, tried.arena_bytes_);
    if (tried.arena_bytes_ <= limit) {
      tried.options_ = std::move(options_);
      tried.passes_ = std::move(passes_);
      *this = std::move(tried);
      return;
    }
    if (!fitted.fits) break;
    target -= static_cast<std::int64_t>(tried.arena_bytes_ - limit);
  }
  throw DeviceError(core::text("compile: a memory limit of ", limit, " bytes cannot be met: the plan needs ",
                               arena_bytes_, " bytes, with values computed twice at least ", smallest));
}

}  // namespace tyto::run
