// SPDX-License-Identifier: MIT
// Target architectures of the JIT: their vectors, and the emitter of each.
#pragma once

#include <memory>

#include "devices/cpu/loop/jit/kernel_spec.hpp"
#include "devices/cpu/loop/jit/machine_code.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu::jit {

/// Null where the system does not let memory be executed, or the set lacks registers or instructions.
using Emitter = std::shared_ptr<const MachineCode> (*)(const KernelSpec& spec);

struct Target {
  InstructionSet set;
  InstructionSet loops;  ///< those of the interpreter that code calls for what it has no instructions for
  int vector_bytes;
  bool scales;     ///< has an instruction for Op::scale
  double divider;  ///< cycles of a division or root of a vector, as a multiple of those of AVX2
  Emitter emit;    ///< null where this build has no assembler for it
};

/// Null where this build makes no machine code for the set.
const Target* find_target(InstructionSet set);

/// Whether this build makes machine code for any set.
bool is_built_in();

}  // namespace tyto::cpu::jit
