// SPDX-License-Identifier: MIT
// The kernel of one random operator, for tests that choose the instruction set and the threads.
#pragma once

#include <memory>

#include "core/device/device.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

/// Any random_* operator: the key (seed, base draw) is its one input, dense.
KernelRef prepare_random(const core::Step& step, const KernelChoice& choice = {});

}  // namespace tyto::cpu
