// SPDX-License-Identifier: MIT
// Machine code for x86-64: AVX2 with FMA, or AVX-512.
#pragma once

#include <memory>

#include "devices/cpu/loop/jit/kernel_spec.hpp"
#include "devices/cpu/loop/jit/machine_code.hpp"

namespace tyto::cpu::jit {

/// AVX2 has vectors of 32 bytes and masks that are vectors, AVX-512 vectors of 64 bytes and mask registers.
enum class VectorSet { avx2, avx512 };

/// Null where the system does not let memory be executed.
std::shared_ptr<const MachineCode> emit_x86(const KernelSpec& spec, VectorSet set);

}  // namespace tyto::cpu::jit
