// SPDX-License-Identifier: MIT
// Reports about an executable.
#pragma once

#include <optional>
#include <string>

#include "engine/run/session.hpp"
#include "tyto/graph.hpp"

namespace tyto::run {

GraphReport report_of(const Session& session, double milliseconds);

/// Bytes that a run reads: of variables and persistent tensors, and of what it is given.
struct InputBytes {
  std::size_t states = 0;
  std::size_t others = 0;
};
InputBytes input_bytes_of(const Executable& executable);

/// Bytes of the tensor that a step sends, receives or combines with other processes; none for other steps.
std::optional<std::size_t> exchanged_bytes(const Executable& executable, const ExecutableStep& step);

/// The graph in Graphviz' language, tensors coloured by the memory they lie in, states named as `recorded` reads them.
std::string dot_of(const core::Graph& recorded, const Executable& executable);

/// The memory plan as a picture.
std::string memory_map_of(const Executable& executable);

inline constexpr const char* no_profile = "chrome_trace: there is no profile; call profile() first";

}  // namespace tyto::run
