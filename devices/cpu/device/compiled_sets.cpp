// SPDX-License-Identifier: MIT
// The choice among the loops of several instruction sets: the one file that knows which of them were compiled.
#include <optional>

#include <tyto/dtype.hpp>

#include "devices/cpu/fft/passes.hpp"
#include "devices/cpu/linalg/vector_loops.hpp"
#include "devices/cpu/loop/interpreter/tile_loops.hpp"
#include "devices/cpu/moves/compaction/compaction.hpp"
#include "devices/cpu/products/attention/row_loops.hpp"
#include "devices/cpu/products/matmul/unpacked_product.hpp"
#include "devices/cpu/products/quantised/quantised_loops.hpp"
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/random/random_loops.hpp"
#include "devices/cpu/reduce/fold.hpp"
#include "devices/cpu/sort/sort_loops.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

// TYTO_CHOOSE(set, loops) returns the loops of the set's namespace, or of the only one that was compiled.
#if defined(TYTO_ONLY_SET)
#define TYTO_CHOOSE(set, loops) \
  static_cast<void>(set);       \
  return TYTO_ONLY_SET::loops
#else
#define TYTO_CHOOSE(set, loops)                            \
  if (set == InstructionSet::avx512) return avx512::loops; \
  return set == InstructionSet::avx2 ? avx2::loops : baseline::loops
#endif

std::optional<InstructionSet> only_compiled_set() noexcept {
#if defined(TYTO_ONLY_SET)
  return InstructionSet::TYTO_ONLY_SET;
#else
  return std::nullopt;
#endif
}

const CompactionLoops& compaction_loops(InstructionSet set) noexcept { TYTO_CHOOSE(set, compaction_loops); }
const RandomLoops& random_loops(InstructionSet set) noexcept { TYTO_CHOOSE(set, random_loops); }
const SortLoops& sort_loops(InstructionSet set) noexcept { TYTO_CHOOSE(set, sort_loops); }
QuantisedLoops quantised_loops(InstructionSet set) noexcept { TYTO_CHOOSE(set, quantised_loops()); }

template <>
const TileSet<float>& tiles<float>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, tiles_f32());
}
template <>
const TileSet<double>& tiles<double>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, tiles_f64());
}

template <>
UnpackedProducts<float> unpacked_products<float>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, unpacked_products_f32());
}
template <>
UnpackedProducts<double> unpacked_products<double>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, unpacked_products_f64());
}
template <>
UnpackedProducts<std::uint32_t> unpacked_products<std::uint32_t>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, unpacked_products_u32());
}
template <>
UnpackedProducts<std::uint64_t> unpacked_products<std::uint64_t>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, unpacked_products_u64());
}

FoldLoops sum_loops(InstructionSet set, Fold fold, DType dtype) { TYTO_CHOOSE(set, sum_loops(fold, dtype)); }
FoldLoops extreme_loops(InstructionSet set, Fold fold, DType dtype) { TYTO_CHOOSE(set, extreme_loops(fold, dtype)); }
FoldLoops moment_loops(InstructionSet set, Fold fold, DType dtype) { TYTO_CHOOSE(set, moment_loops(fold, dtype)); }

// Wider vectors of single operators are the business of machine code: AVX-512 has no tile loops of its own.
#define TYTO_TILE_LOOPS(isa)                                                                                        \
  namespace isa {                                                                                                   \
  inline const TileLoops& tile_loops() noexcept {                                                                   \
    static constexpr TileLoops loops{boolean_operators, i32_operators, i64_operators, u64_operators, f32_operators, \
                                     f64_operators,     conversions,   gathers,       scatters,      transposes};   \
    return loops;                                                                                                   \
  }                                                                                                                 \
  }
TYTO_TILE_LOOPS(baseline)
TYTO_TILE_LOOPS(avx2)
namespace avx512 {
using avx2::tile_loops;
}
#undef TYTO_TILE_LOOPS

static_assert(dtype_count == element_types);

const TileLoops& tile_loops(InstructionSet set) noexcept { TYTO_CHOOSE(set, tile_loops()); }

}  // namespace tyto::cpu

namespace tyto::cpu::attention {

template <>
const RowLoops<float>& row_loops<float>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, row_loops_f32());
}
template <>
const RowLoops<double>& row_loops<double>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, row_loops_f64());
}

}  // namespace tyto::cpu::attention

namespace tyto::cpu::fourier {

template <>
const Passes<float>& passes<float>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, passes_f32());
}
template <>
const Passes<double>& passes<double>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, passes_f64());
}

}  // namespace tyto::cpu::fourier

namespace tyto::cpu::linalg {

template <>
const VectorLoops<float>& vector_loops<float>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, vector_loops_f32());
}
template <>
const VectorLoops<double>& vector_loops<double>(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, vector_loops_f64());
}

}  // namespace tyto::cpu::linalg
