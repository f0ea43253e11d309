// SPDX-License-Identifier: MIT
// The optimiser as executables call it: with the choice of passes from options and environment.
#pragma once

#include "engine/run/executable.hpp"

namespace tyto::run {

/// For evaluation that nobody asked to compile: what rounds otherwise than eager mode does stays out.
inline constexpr const char* bit_exact = "-stability,-reductions,-scaling,-fma,-epilogues,-packing";

/// The graph after the passes that the options name and, last word, the environment variable TYTO_PASSES.
core::Graph optimised(core::Graph graph, core::Device& device, const CompileOptions& options, PassReport& report);

/// The same graph, which reads weights of states that it packs as inputs of their own.
core::Graph with_packed_inputs(core::Graph graph);

}  // namespace tyto::run
