// SPDX-License-Identifier: MIT
// Machine code for AArch64: NEON, which every such processor has.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "devices/cpu/loop/jit/kernel_spec.hpp"
#include "devices/cpu/loop/jit/machine_code.hpp"

namespace tyto::cpu::jit {

/// Position-independent code, on whatever processor it is asked for; empty where registers or instructions lack.
std::vector<std::byte> assemble_aarch64(const KernelSpec& spec);

/// The same, to be run; null also where the system does not let memory be executed.
std::shared_ptr<const MachineCode> emit_aarch64(const KernelSpec& spec);

}  // namespace tyto::cpu::jit
