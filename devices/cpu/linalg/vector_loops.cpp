// Picks the loops of an instruction set.
#include "devices/cpu/linalg/vector_loops.hpp"

namespace tyto::cpu::linalg {

template <>
const VectorLoops<float>& vector_loops<float>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::vector_loops_f32();
  if (set == InstructionSet::avx2) return avx2::vector_loops_f32();
#endif
  static_cast<void>(set);
  return baseline::vector_loops_f32();
}

template <>
const VectorLoops<double>& vector_loops<double>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::vector_loops_f64();
  if (set == InstructionSet::avx2) return avx2::vector_loops_f64();
#endif
  static_cast<void>(set);
  return baseline::vector_loops_f64();
}

}  // namespace tyto::cpu::linalg
