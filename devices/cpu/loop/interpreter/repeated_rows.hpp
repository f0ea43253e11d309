// SPDX-License-Identifier: MIT
// Element-wise loops whose rows are shorter than a few vectors because an operand has one value a column.
#pragma once

#include <memory>
#include <span>

#include "core/device/device.hpp"

namespace tyto::cpu {

/// Makes the kernel of the same loop over other operands.
using PrepareLoop = std::shared_ptr<const core::Kernel> (*)(const void* context, std::span<const core::Operand> inputs,
                                                            std::span<const core::Operand> outputs);

/// A kernel that repeats such operands a few times over, so that several rows are one. Null where rows are long enough,
/// where something else than such operands cuts them, or where their number has no fitting divisor.
std::shared_ptr<const core::Kernel> prepare_repeated_rows(std::span<const core::Operand> inputs,
                                                          std::span<const core::Operand> outputs, PrepareLoop prepare,
                                                          const void* context);

}  // namespace tyto::cpu
