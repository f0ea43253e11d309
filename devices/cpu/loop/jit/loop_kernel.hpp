// SPDX-License-Identifier: MIT
// Kernels of machine code: a loop over operands of one shape.
#pragma once

#include <memory>

#include "core/loop/bound_loop.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu::jit {

/// Null where there is no machine code to be had. See prepare_elements for what operands may be.
KernelRef prepare_loop(const core::BoundLoop& bound, const KernelChoice& choice);

}  // namespace tyto::cpu::jit
