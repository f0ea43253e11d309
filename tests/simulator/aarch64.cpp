// SPDX-License-Identifier: MIT
// The simulator, where VIXL has it.
#include "tests/simulator/aarch64.hpp"

#if defined(VIXL_INCLUDE_SIMULATOR_AARCH64)
#include <aarch64/simulator-aarch64.h>

#include "devices/cpu/loop/jit/aarch64_emitter.hpp"
#endif

namespace tyto::cpu::testing {

#if defined(VIXL_INCLUDE_SIMULATOR_AARCH64)

bool has_aarch64_simulator() { return true; }

std::int64_t simulate_aarch64(const jit::KernelSpec& spec, jit::Frame& frame) {
  namespace a64 = vixl::aarch64;
  const std::vector<std::byte> code = jit::assemble_aarch64(spec);
  if (code.empty()) return -1;
  a64::Decoder decoder;
  a64::Simulator simulator(&decoder);
  simulator.WriteXRegister(0, reinterpret_cast<std::int64_t>(&frame));
  simulator.WritePc(reinterpret_cast<const a64::Instruction*>(code.data()));
  std::int64_t count = 0;
  for (; simulator.ReadPc() != a64::Simulator::kEndOfSimAddress; ++count) simulator.ExecuteInstruction();
  return count;
}

#else

bool has_aarch64_simulator() { return false; }
std::int64_t simulate_aarch64(const jit::KernelSpec&, jit::Frame&) { return -1; }

#endif

}  // namespace tyto::cpu::testing
