// Executables kept by the structure of their graphs, so that a loop over lazy tensors compiles once.
#pragma once

#include <vector>

#include "engine/execution/session.hpp"
#include "engine/graph/trace.hpp"

namespace tyto::run {

/// Runs a traced graph through a cached (or new) executable and session. Returns the outputs.
std::vector<core::Array> run_cached(Traced traced, core::Device& device);

}  // namespace tyto::run
