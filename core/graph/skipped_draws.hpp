// SPDX-License-Identifier: MIT
// Advances the random sequence by the draws that eager mode leaves out, so that both modes go on with the same numbers.
#pragma once

#include <cstdint>

#include "core/graph/symbol.hpp"

namespace tyto::core {

/// Advances the process-wide sequence by `count` draws, as that many of `core::draw` without a key would. Defined in
/// engine/graph, which keeps the sequence.
void skip_draws(Mode mode, std::int64_t count);

}  // namespace tyto::core
