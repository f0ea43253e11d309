// SPDX-License-Identifier: MIT
// The architectures: the one file that knows them all.
#include "devices/cpu/loop/jit/target.hpp"

#include <algorithm>
#include <vector>

#include "devices/cpu/loop/jit/aarch64_emitter.hpp"
#include "devices/cpu/loop/jit/x86_emitter.hpp"

namespace tyto::cpu::jit {

namespace {

const std::vector<Target>& targets() {
  static const std::vector<Target> all {
#if defined(TYTO_HAVE_XBYAK)
    {InstructionSet::avx2, 32, false, false, 1, [](const KernelSpec& spec) { return emit_x86(spec, VectorSet::avx2); }}, {InstructionSet::avx512,
                                                                                  64,
                                                                                  true,
                                                                                  true,
                                                                                  2,
                                                                                  [](const KernelSpec& spec) { return emit_x86(spec, VectorSet::avx512); }},
#elif defined(TYTO_HAVE_VIXL)
    {InstructionSet::baseline, 16, false, false, 1, emit_aarch64},
#endif
  };
  return all;
}

}  // namespace

const Target* find_target(InstructionSet set) {
  const auto found = std::ranges::find(targets(), set, &Target::set);
  return found == targets().end() ? nullptr : &*found;
}

bool is_built_in() { return !targets().empty(); }

}  // namespace tyto::cpu::jit
