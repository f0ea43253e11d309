// SPDX-License-Identifier: MIT
// Assembles a function in a buffer, larger each time it does not fit, and then makes it executable.
#if defined(TYTO_HAVE_XBYAK)

#include "devices/cpu/loop/jit/x86_emitter.hpp"

#include "devices/cpu/loop/jit/x86_function.hpp"

namespace tyto::cpu::jit {

std::shared_ptr<const MachineCode> emit_x86(const KernelSpec& spec, VectorSet set) {
  for (std::size_t bytes = std::size_t{1} << 16;; bytes *= 4) {
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
    try {
      X86Function function(spec, set, {buffer.get(), bytes});
      auto made = std::make_shared<const MachineCode>(std::span<const std::byte>(buffer.get(), function.getSize()));
      return *made ? made : nullptr;
    } catch (const NotEmitted&) {
      return nullptr;
    } catch (const Xbyak::Error& error) {
      if (static_cast<int>(error) != Xbyak::ERR_CODE_IS_TOO_BIG) throw;
    }
  }
}

}  // namespace tyto::cpu::jit

#endif
