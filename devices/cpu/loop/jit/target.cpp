// SPDX-License-Identifier: MIT
// The table of target architectures.
#include "devices/cpu/loop/jit/target.hpp"

#include <algorithm>

#include "devices/cpu/loop/jit/aarch64_emitter.hpp"
#include "devices/cpu/loop/jit/x86_emitter.hpp"

namespace tyto::cpu::jit {

namespace {

#if defined(TYTO_HAVE_VIXL)
constexpr Emitter emit_neon = emit_aarch64;
#else
constexpr Emitter emit_neon = nullptr;
#endif

#if defined(TYTO_HAVE_XBYAK)
constexpr Emitter emit_avx2 = [](const KernelSpec& spec) { return emit_x86(spec, VectorSet::avx2); };
constexpr Emitter emit_avx512 = [](const KernelSpec& spec) { return emit_x86(spec, VectorSet::avx512); };
#else
constexpr Emitter emit_avx2 = nullptr, emit_avx512 = nullptr;
#endif

// clang-format off
constexpr Target targets[] = {
  // set                       loops                     bytes  scales  divider
    {InstructionSet::baseline, InstructionSet::baseline, 16,    false,  1,       emit_neon},
    {InstructionSet::avx2,     InstructionSet::avx2,     32,    false,  1,       emit_avx2},
    {InstructionSet::avx512,   InstructionSet::avx2,     64,    true,   2,       emit_avx512},
};
// clang-format on

}  // namespace

const Target* find_target(InstructionSet set) {
  const auto* const found = std::ranges::find(targets, set, &Target::set);
  return found == std::end(targets) || found->emit == nullptr ? nullptr : found;
}

bool is_built_in() {
  return std::ranges::any_of(targets, [](const Target& each) { return each.emit != nullptr; });
}

}  // namespace tyto::cpu::jit
