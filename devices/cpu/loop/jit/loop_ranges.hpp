// SPDX-License-Identifier: MIT
// Machine code for parts of a shape: what groups over rows and reductions of computed elements run.
#pragma once

#include <memory>

#include "devices/cpu/loop/range_program.hpp"

namespace tyto::cpu::jit {

/// See prepare_ranges. Reductions write one partial result a row, dense over the rows. Null where there is no machine
/// code to be had.
std::shared_ptr<const RangeProgram> prepare_loop_ranges(const core::BoundLoop& bound, std::int64_t length,
                                                        const RangePolicy& policy, InstructionSet set);

}  // namespace tyto::cpu::jit
