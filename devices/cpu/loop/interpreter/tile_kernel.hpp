// SPDX-License-Identifier: MIT
// Kernels and range programs that the interpreter runs.
#pragma once

#include <memory>

#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/range_program.hpp"

namespace tyto::cpu {

/// See prepare_elements.
KernelRef prepare_tiles(const core::BoundLoop& bound, const KernelChoice& choice);

/// See prepare_ranges; the program has no reductions.
std::shared_ptr<const RangeProgram> prepare_tile_ranges(const core::BoundLoop& bound, InstructionSet set);

}  // namespace tyto::cpu
