// SPDX-License-Identifier: MIT
// Options of heavy kernels: which implementation, for which instruction set, on how many threads.
#pragma once

#include <optional>
#include <string>

#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

/// The code that computes. `automatic` takes oneDNN where it is present and fits, else our own code.
enum class Implementation { automatic, own, onednn };

/// How loops over elements run. `automatic` takes machine code where it is to be had and no instruction set is asked
/// for.
enum class LoopBackend { automatic, interpreter, jit };

struct KernelChoice {
  Implementation implementation = Implementation::automatic;
  std::optional<InstructionSet> instructions;  ///< instruction_set() when unset
  int threads = 0;                             ///< exactly so many; 0: as many as the work is worth
  LoopBackend loops = LoopBackend::automatic;

  InstructionSet set() const noexcept { return instructions.value_or(instruction_set()); }
};

/// True when this build has oneDNN.
constexpr bool has_onednn() noexcept {
#if defined(TYTO_HAVE_ONEDNN)
  return true;
#else
  return false;
#endif
}

/// The version of oneDNN; empty in builds without it.
std::string onednn_version();

}  // namespace tyto::cpu
