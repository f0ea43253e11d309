// Machine code for x86-64 with AVX2 and FMA.
#pragma once

#include <memory>

#include "devices/cpu/jit/kernel_form.hpp"
#include "devices/cpu/jit/machine_code.hpp"

namespace tyto::cpu::jit {

/// Null where the system does not let memory be executed.
std::shared_ptr<const MachineCode> emit_x86(const KernelForm& form);

}  // namespace tyto::cpu::jit
