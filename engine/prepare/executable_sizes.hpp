// SPDX-License-Identifier: MIT
// Plans one program at several sizes (a smaller last batch, other lengths): the second plan follows the first.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "engine/run/executable.hpp"

namespace tyto::run {

/// The one of `related` that is nearest in size among those with the same operators on the same ports, the same device
/// and schedule; shapes, attributes and constants may differ. Null for none.
const Executable* same_program(const Executable& executable,
                               std::span<const std::shared_ptr<const Executable>> related);

/// Offsets for `blocks` by who lies below whom in the plan of `related`. None when lifetimes differ (other copies are
/// needed at these sizes, or a workspace that the other one does without), or when the sizes have changed so unevenly
/// that a search is worth its time.
std::optional<MemoryPlan> plan_by_order(const Executable& related, std::span<const Block> blocks,
                                        const PlanOptions& options);

}  // namespace tyto::run
