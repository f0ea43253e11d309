// SPDX-License-Identifier: MIT
// Loops with reductions over any axes: stages one after the other, each over a block that stays in the cache where the
// reduced axes are not the last, or else over everything.
#pragma once

#include <memory>

#include "core/loop/bound_loop.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

/// The kernel of a loop whose reduced axes are neighbours. Gives the bits of the operators one by one on each block.
KernelRef prepare_staged(const core::BoundLoop& loop);

}  // namespace tyto::cpu
