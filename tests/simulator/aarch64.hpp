// SPDX-License-Identifier: MIT
// Runs machine code for AArch64 on other processors, by VIXL's simulator.
#pragma once

#include <cstdint>

#include "devices/cpu/loop/jit/kernel_spec.hpp"

namespace tyto::cpu::testing {

/// Whether this build has the simulator: VIXL, on x86-64.
bool has_aarch64_simulator();

/// Runs the specification's code on the frame; how many instructions that took. Throws where no code is emitted.
/// Functions of the host cannot be called.
std::int64_t simulate_aarch64(const jit::KernelSpec& spec, jit::Frame& frame);

}  // namespace tyto::cpu::testing
