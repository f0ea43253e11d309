// SPDX-License-Identifier: MIT
// One self-contained page about a graph: recorded, optimised, its schedule, its memory, its profile.
#pragma once

#include <string>

#include "engine/run/executable.hpp"
#include "tyto/profile.hpp"

namespace tyto::run {

/// HTML with a place for the data.
extern const char* const page_source;

/// The page of a graph; `profile` may be empty.
std::string page_of(const core::Graph& recorded, const Executable& executable, const GraphProfile& profile);

}  // namespace tyto::run
