// SPDX-License-Identifier: MIT
// Element-wise loops whose rows are shorter than a few vectors because an operand has one value a column.
#pragma once

#include <memory>

#include "core/loop/bound_loop.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

/// A kernel of machine code that repeats such operands a few times over, so that several rows are one. Null where rows
/// are long enough, where something else than such operands cuts them, where their number has no fitting divisor, or
/// where there is no machine code to be had.
KernelRef prepare_repeated_rows(const core::BoundLoop& bound, const KernelChoice& choice);

}  // namespace tyto::cpu
