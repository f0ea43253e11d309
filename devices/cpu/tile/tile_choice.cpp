// Picks the register tiles of an instruction set.
#include "devices/cpu/tile/tile.hpp"

namespace tyto::cpu {

template <>
const TileSet<float>& tiles<float>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::tiles_f32();
  if (set == InstructionSet::avx2) return avx2::tiles_f32();
#endif
  static_cast<void>(set);
  return baseline::tiles_f32();
}

template <>
const TileSet<double>& tiles<double>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::tiles_f64();
  if (set == InstructionSet::avx2) return avx2::tiles_f64();
#endif
  static_cast<void>(set);
  return baseline::tiles_f64();
}

}  // namespace tyto::cpu
