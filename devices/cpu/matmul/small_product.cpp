// Picks the small matrix products of an instruction set.
#include "devices/cpu/matmul/small_product.hpp"

namespace tyto::cpu {

template <>
SmallProducts<float> small_products<float>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::small_products_f32();
  if (set == InstructionSet::avx2) return avx2::small_products_f32();
#endif
  static_cast<void>(set);
  return baseline::small_products_f32();
}

template <>
SmallProducts<double> small_products<double>(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return avx512::small_products_f64();
  if (set == InstructionSet::avx2) return avx2::small_products_f64();
#endif
  static_cast<void>(set);
  return baseline::small_products_f64();
}

}  // namespace tyto::cpu
