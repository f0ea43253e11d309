// SPDX-License-Identifier: MIT
// The AArch64 simulator, in builds of VIXL that contain it.
#include "tests/simulator/aarch64.hpp"

#include <stdexcept>

#if defined(VIXL_INCLUDE_SIMULATOR_AARCH64)
#include <cstdio>

#include <aarch64/simulator-aarch64.h>

#include "devices/cpu/loop/jit/aarch64_emitter.hpp"
#endif

namespace tyto::cpu::testing {

#if defined(VIXL_INCLUDE_SIMULATOR_AARCH64)

bool has_aarch64_simulator() { return true; }

std::int64_t simulate_aarch64(const jit::KernelSpec& spec, jit::Frame& frame) {
  namespace a64 = vixl::aarch64;
  const std::vector<std::byte> code = jit::assemble_aarch64(spec);
  if (code.empty()) throw std::logic_error("jit: no code for AArch64 was emitted");
  a64::Decoder decoder;
  // Values that find no register are kept on the stack, more than the 8 KiB that it has by default.
  a64::SimStack stack;
  stack.SetUsableSize(std::size_t{256} << 10);
  a64::Simulator simulator(&decoder, stdout, stack.Allocate());
  simulator.WriteXRegister(0, reinterpret_cast<std::int64_t>(&frame));
  simulator.WritePc(reinterpret_cast<const a64::Instruction*>(code.data()));
  std::int64_t count = 0;
  for (; simulator.ReadPc() != a64::Simulator::kEndOfSimAddress; ++count) simulator.ExecuteInstruction();
  return count;
}

#else

bool has_aarch64_simulator() { return false; }
std::int64_t simulate_aarch64(const jit::KernelSpec&, jit::Frame&) {
  throw std::logic_error("jit: there is no simulator of AArch64");
}

#endif

}  // namespace tyto::cpu::testing
