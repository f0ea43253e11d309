// Picks the loops of an instruction set.
#include "devices/cpu/fft/passes.hpp"

namespace tyto::cpu::fourier {

template <>
const Passes<float>& passes<float>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::passes_f32();
  if (set == InstructionSet::avx2) return avx2::passes_f32();
#endif
  static_cast<void>(set);
  return baseline::passes_f32();
}

template <>
const Passes<double>& passes<double>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::passes_f64();
  if (set == InstructionSet::avx2) return avx2::passes_f64();
#endif
  static_cast<void>(set);
  return baseline::passes_f64();
}

}  // namespace tyto::cpu::fourier
