// SPDX-License-Identifier: MIT
// Finds the processor's instruction sets through the compiler's cpuid support.
#include "devices/cpu/system/instruction_set.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>

#include <tyto/error.hpp>

#include "core/system/environment.hpp"
#include "core/value/text.hpp"

namespace tyto::cpu {

namespace {

InstructionSet detect() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
#if defined(__clang__)  // does not know the name; every processor with AVX2 has it unless a virtual machine hides it
  const bool halves = true;
#else
  const bool halves = __builtin_cpu_supports("f16c");
#endif
  const bool avx2 = halves && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? InstructionSet::avx512 : avx2 ? InstructionSet::avx2 : InstructionSet::baseline;
#else
  return InstructionSet::baseline;
#endif
}

InstructionSet chosen() noexcept {
  const InstructionSet widest = widest_instruction_set();
  const auto wish = core::environment("TYTO_ISA");
  if (!wish || only_compiled_set()) return widest;
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set <= widest && *wish == name_of(set)) return set;
  }
  return widest;
}

}  // namespace

InstructionSet widest_instruction_set() noexcept {
  static const InstructionSet widest = only_compiled_set().value_or(detect());
  return widest;
}

void require_compiled_set(InstructionSet of_processor, std::optional<InstructionSet> only) {
  if (!only || *only <= of_processor) return;
  core::throw_error<DeviceError>("cpu: the kernels of this build are compiled for ", name_of(*only),
                                 ", which this processor lacks (it has ", name_of(of_processor),
                                 "); a build with TYTO_INSTRUCTION_SETS=all has kernels for every processor");
}

void require_compiled_set() { require_compiled_set(detect(), only_compiled_set()); }

InstructionSet instruction_set() noexcept {
  static const InstructionSet set = chosen();
  return set;
}

std::string processor_name() {
#if defined(__x86_64__) || defined(__i386__)
  // The brand string: three leaves of sixteen bytes.
  std::array<unsigned, 12> text{};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* const part = text.data() + std::size_t{4} * leaf;
    if (__get_cpuid(0x80000002U + leaf, part, part + 1, part + 2, part + 3) == 0) return "processor";
  }
  std::string name(reinterpret_cast<const char*>(text.data()), sizeof text);
  name.resize(std::min(name.find('\0'), name.size()));
  const std::size_t first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
  return first == std::string::npos ? "processor" : name.substr(first, last - first + 1);
#elif defined(__aarch64__)
  return "AArch64 processor";
#else
  return "processor";
#endif
}

bool has_bf16_products() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return instruction_set() == InstructionSet::avx512 && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

const char* name_of(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::avx2: return "avx2";
    case InstructionSet::avx512: return "avx512";
#if defined(__aarch64__)
    default: return "neon";  // which every such processor has
#else
    default: return "baseline";
#endif
  }
}

}  // namespace tyto::cpu
