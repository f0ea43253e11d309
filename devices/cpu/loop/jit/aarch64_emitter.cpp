// SPDX-License-Identifier: MIT
// Assembles a function, and then makes it executable.
#if defined(TYTO_HAVE_VIXL)

#include "devices/cpu/loop/jit/aarch64_emitter.hpp"

#include "devices/cpu/loop/jit/aarch64_function.hpp"

namespace tyto::cpu::jit {

std::vector<std::byte> assemble_aarch64(const KernelSpec& spec) {
  try {
    return AArch64Function(spec).code();
  } catch (const NotEmitted&) {
    return {};
  }
}

std::shared_ptr<const MachineCode> emit_aarch64(const KernelSpec& spec) {
  const std::vector<std::byte> code = assemble_aarch64(spec);
  if (code.empty()) return nullptr;
  auto made = std::make_shared<const MachineCode>(code);
  return *made ? made : nullptr;
}

}  // namespace tyto::cpu::jit

#endif
