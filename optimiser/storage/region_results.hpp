// SPDX-License-Identifier: MIT
// Decides which operands of a loop or a branch its results may be computed in place of.
#pragma once

#include <cstddef>
#include <optional>

#include "core/graph/attributes.hpp"

namespace tyto::optimiser {

/// The operand in whose memory result number `result` of the loop may lie, if there is one: the initial value of the
/// same carry, unless a row of a result keeps that or another carry takes it over; of carries that hand on their
/// values, which lie where the initial ones did, the one at whose place the result is after the last iteration.
std::optional<std::size_t> operand_under(const core::IterationAttributes& loop, std::size_t result);

/// Whether result number `result` of the branch may lie in the memory of its operand number `slot`: each arm passes the
/// operand on as that result, or leaves it alone, or reads it for the last time before it writes the result, or in the
/// step that does so and may do it in place.
bool may_lie_over(const core::BranchAttributes& branch, std::size_t result, std::size_t slot);

}  // namespace tyto::optimiser
