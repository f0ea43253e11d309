// SPDX-License-Identifier: MIT
// Kernels of machine code: a tile program over operands of one shape.
#pragma once

#include <memory>
#include <span>

#include "core/device/device.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/loop/tile_program.hpp"

namespace tyto::cpu::jit {

/// Null where there is no machine code to be had. See prepare_tile_program for what operands may be.
std::shared_ptr<const core::Kernel> prepare_loop(const TileProgram& program, std::span<const core::Operand> inputs,
                                                 std::span<const core::Operand> outputs, const KernelChoice& choice);

}  // namespace tyto::cpu::jit
