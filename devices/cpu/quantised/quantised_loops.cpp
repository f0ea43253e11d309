// Picks the loops over weights of few bits of an instruction set.
#include "devices/cpu/quantised/quantised_loops.hpp"

namespace tyto::cpu {

QuantisedLoops quantised_loops(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::quantised_loops();
  if (set == InstructionSet::avx2) return avx2::quantised_loops();
#endif
  static_cast<void>(set);
  return baseline::quantised_loops();
}

}  // namespace tyto::cpu
