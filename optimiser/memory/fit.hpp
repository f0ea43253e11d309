// SPDX-License-Identifier: MIT
// Placing blocks one after another into gaps: first fit and best fit in a given order.
#pragma once

#include <span>

#include "optimiser/memory/placement.hpp"

namespace tyto::memory {

enum class Fit { best, first };

/// Each block of `order` takes the smallest (best) or the lowest (first) gap between its placed neighbours that is
/// large enough, else it goes on top of them. Fixed blocks are placed before all others. Gives up, with an infinite
/// height, as soon as the height would reach `give_up_at`.
Placement place_in_order(const Problem& problem, std::span<const Index> order, Fit fit,
                         Bytes give_up_at = std::numeric_limits<Bytes>::max());

/// Blocks in ascending offset: placing a plan again in this order never raises it and often lowers it.
std::vector<Index> order_of_offsets(const Problem& problem, const std::vector<Bytes>& offsets);

/// Places again by ascending, then by descending-top order, both with first fit, until nothing is gained.
Placement squeeze(const Problem& problem, Placement placement);

}  // namespace tyto::memory
