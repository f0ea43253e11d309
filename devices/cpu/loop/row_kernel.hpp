// SPDX-License-Identifier: MIT
// Loops with reductions over their last axes: a block of rows at a time through all stages, while it lies in the cache.
#pragma once

#include <memory>

#include "core/loop/bound_loop.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

/// The kernel of a loop that reduces its last axes. Gives the bits of the operators one by one for rows of 16 elements
/// or more; shorter ones those add in another order.
KernelRef prepare_rows(const core::BoundLoop& loop);

}  // namespace tyto::cpu
