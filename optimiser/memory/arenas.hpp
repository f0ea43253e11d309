// SPDX-License-Identifier: MIT
// Splits blocks over several arenas where a device limits the size of one.
#pragma once

#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {

/// Replaces a plan that is higher than `limit` by one over several arenas, none of them higher.
void split_into_arenas(std::span<const Block> blocks, const Problem& problem, const Effort& effort,
                       const Strategy& strategy, Bytes limit, MemoryPlan& plan);

}  // namespace tyto::memory
