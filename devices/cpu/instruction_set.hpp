// Which vector instruction set the kernels use: found once from the processor, lowered on request.
#pragma once

#include <string>

namespace tyto::cpu {

/// The sets that kernels are compiled for; each includes those before it.
enum class InstructionSet { baseline, avx2, avx512 };

/// The widest set that this processor, its operating system and this build offer.
InstructionSet widest_instruction_set() noexcept;

/// The set that kernels prepared from now on use: the widest, unless TYTO_ISA (baseline, avx2, avx512) names a narrower
/// one.
InstructionSet instruction_set() noexcept;

/// What the processor calls itself.
std::string processor_name();

/// True where bf16 products run in hardware (AVX512_BF16).
bool has_bf16_products() noexcept;

const char* name_of(InstructionSet set) noexcept;

}  // namespace tyto::cpu
