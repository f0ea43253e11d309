// SPDX-License-Identifier: MIT
// Executables kept by the structure of their graphs, so that a loop over lazy tensors compiles once.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/graph/trace.hpp"
#include "engine/run/session.hpp"

namespace tyto::run {

/// Runs a traced graph through a cached (or new) executable and session. Returns the outputs.
std::vector<core::Array> run_cached(Traced traced, core::Device& device);

/// How many executables run_cached() has compiled, for tests.
std::uint64_t executables_compiled();

}  // namespace tyto::run
