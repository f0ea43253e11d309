// From a tile program to machine code, made once for every form of its operands.
#pragma once

#include <memory>
#include <span>

#include "devices/cpu/jit/kernel_form.hpp"
#include "devices/cpu/jit/machine_code.hpp"
#include "devices/cpu/tile_program.hpp"

namespace tyto::cpu::jit {

/// Whether this processor and system run code made here, and nobody has switched it off (TYTO_JIT=0).
bool is_available();

struct Compiled {
  std::shared_ptr<const MachineCode> code;
  double nanoseconds = 0;  ///< of an element, roughly, with operands in the caches
};

/// Empty where memory may not be executed after all. Throws DeviceError when an instruction has no loop for its types.
Compiled compile(const TileProgram& program, std::span<const OperandForm> inputs, std::span<const OperandForm> outputs,
                 bool non_temporal);

}  // namespace tyto::cpu::jit
