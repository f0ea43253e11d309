// SPDX-License-Identifier: MIT
// Chooses among the loops of several instruction sets: the one file that knows which of them were compiled.
#include <optional>

#include <tyto/dtype.hpp>

#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"
#include "devices/cpu/fft/passes.hpp"
#include "devices/cpu/linalg/vector_loops.hpp"
#include "devices/cpu/products/attention/row_loops.hpp"
#include "devices/cpu/products/half_epilogues.hpp"
#include "devices/cpu/products/matmul/unpacked_product.hpp"
#include "devices/cpu/products/quantised/quantised_loops.hpp"
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/random/random_loops.hpp"
#include "devices/cpu/reduce/fold.hpp"
#include "devices/cpu/sort/compaction/compaction.hpp"
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
HalfEpilogueLoops half_epilogue_loops(InstructionSet set) noexcept { TYTO_CHOOSE(set, half_epilogue_loops()); }
QuantisedLoops quantised_loops(InstructionSet set) noexcept { TYTO_CHOOSE(set, quantised_loops()); }

template <class T>
const TileSet<T>& tiles(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, tiles<T>());
}
template const TileSet<float>& tiles(InstructionSet) noexcept;
template const TileSet<double>& tiles(InstructionSet) noexcept;

template <class T>
UnpackedProducts<T> unpacked_products(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, unpacked_products<T>());
}
template UnpackedProducts<float> unpacked_products(InstructionSet) noexcept;
template UnpackedProducts<double> unpacked_products(InstructionSet) noexcept;
template UnpackedProducts<std::uint32_t> unpacked_products(InstructionSet) noexcept;
template UnpackedProducts<std::uint64_t> unpacked_products(InstructionSet) noexcept;

FoldLoops sum_loops(InstructionSet set, Fold fold, DType dtype) { TYTO_CHOOSE(set, sum_loops(fold, dtype)); }
FoldLoops extreme_loops(InstructionSet set, Fold fold, DType dtype) { TYTO_CHOOSE(set, extreme_loops(fold, dtype)); }
FoldLoops moment_loops(InstructionSet set, Fold fold, DType dtype) { TYTO_CHOOSE(set, moment_loops(fold, dtype)); }

// AVX-512 has no tile loops of its own: machine code takes care of wider vectors.
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

template <class T>
const RowLoops<T>& row_loops(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, row_loops<T>());
}
template const RowLoops<float>& row_loops(InstructionSet) noexcept;
template const RowLoops<double>& row_loops(InstructionSet) noexcept;

}  // namespace tyto::cpu::attention

namespace tyto::cpu::fourier {

template <class T>
const Passes<T>& passes(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, passes<T>());
}
template const Passes<float>& passes(InstructionSet) noexcept;
template const Passes<double>& passes(InstructionSet) noexcept;

}  // namespace tyto::cpu::fourier

namespace tyto::cpu::linalg {

template <class T>
const VectorLoops<T>& vector_loops(InstructionSet set) noexcept {
  TYTO_CHOOSE(set, vector_loops<T>());
}
template const VectorLoops<float>& vector_loops(InstructionSet) noexcept;
template const VectorLoops<double>& vector_loops(InstructionSet) noexcept;

}  // namespace tyto::cpu::linalg
