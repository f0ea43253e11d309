// SPDX-License-Identifier: MIT
// Compiles a loop program to machine code, once for each form of its operands.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/graph/loop_program.hpp"
#include "devices/cpu/loop/jit/kernel_spec.hpp"
#include "devices/cpu/loop/jit/machine_code.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu::jit {

/// Whether the system runs code made here for the instruction set in use, and nobody has switched it off (TYTO_JIT=0).
bool is_available();
/// Why not, in words; empty where it is.
const std::string& unavailable_reason();

struct Compiled {
  std::shared_ptr<const MachineCode> code;
  double nanoseconds = 0;  ///< of an element, roughly, with operands in the caches
  double cycles = 0;       ///< of a vector
};

/// Compiles for a set with a target (target.hpp). Empty where memory may not be executed after all, or the set
/// lacks registers or instructions for the program. Throws DeviceError when an instruction has no loop for its types.
Compiled compile(const core::LoopProgram& program, std::span<const OperandSpec> inputs,
                 std::span<const OperandSpec> outputs, Variant variant, InstructionSet set);

}  // namespace tyto::cpu::jit
