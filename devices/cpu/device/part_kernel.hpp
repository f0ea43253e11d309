// SPDX-License-Identifier: MIT
// A kernel over parts of operands: it is launched with the addresses of the whole ones.
#pragma once

#include <memory>

#include "core/loop/bound_loop.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

/// The kernel of a loop, launched with the operands of its step: each address goes to all of the loop's operands that
/// are parts of what lies there.
KernelRef with_whole_operands(const core::BoundLoop& bound, KernelRef kernel);

}  // namespace tyto::cpu
