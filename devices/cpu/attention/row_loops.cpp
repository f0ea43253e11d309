// Picks the loops of an instruction set.
#include "devices/cpu/attention/row_loops.hpp"

namespace tyto::cpu::attention {

template <>
const RowLoops<float>& row_loops<float>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::row_loops_f32();
  if (set == InstructionSet::avx2) return avx2::row_loops_f32();
#endif
  static_cast<void>(set);
  return baseline::row_loops_f32();
}

template <>
const RowLoops<double>& row_loops<double>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::row_loops_f64();
  if (set == InstructionSet::avx2) return avx2::row_loops_f64();
#endif
  static_cast<void>(set);
  return baseline::row_loops_f64();
}

}  // namespace tyto::cpu::attention
