// SPDX-License-Identifier: MIT
// The vector instruction set of kernels: detected once, lowered on request.
#pragma once

#include <optional>
#include <string>

#include "devices/cpu/system/each_set.hpp"

namespace tyto::cpu {

/// The sets that kernels are compiled for; each includes those before it.
enum class InstructionSet { baseline, avx2, avx512 };

/// The widest set that this processor and its operating system offer, or the only one that this build has kernels for.
InstructionSet widest_instruction_set() noexcept;

/// The set of a build for one set (TYTO_INSTRUCTION_SETS=native).
std::optional<InstructionSet> only_compiled_set() noexcept;

/// Throws a DeviceError where a build for one set meets a processor without it.
void require_compiled_set(InstructionSet of_processor, std::optional<InstructionSet> only);
void require_compiled_set();

/// The set that kernels prepared from now on use: the widest, unless TYTO_ISA (baseline, avx2, avx512) names a narrower
/// one.
InstructionSet instruction_set() noexcept;

/// The brand string of the processor.
std::string processor_name();

/// True where bf16 products run in hardware (AVX512_BF16).
bool has_bf16_products() noexcept;

const char* name_of(InstructionSet set) noexcept;

}  // namespace tyto::cpu
