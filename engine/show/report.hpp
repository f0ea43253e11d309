// SPDX-License-Identifier: MIT
// Reports about an executable.
#pragma once

#include <string>

#include "engine/run/session.hpp"
#include "tyto/graph.hpp"

namespace tyto::run {

GraphReport report_of(const Session& session, double milliseconds);

/// The graph in Graphviz' language, tensors coloured by the memory they lie in, states named as `recorded` reads them.
std::string dot_of(const core::Graph& recorded, const Executable& executable);

/// The memory plan as a picture.
std::string memory_map_of(const Executable& executable);

inline constexpr const char* no_profile = "chrome_trace: there is no profile; call profile() first";

}  // namespace tyto::run
