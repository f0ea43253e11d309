// Picks the tile loops of an instruction set.
#include "devices/cpu/elementwise/tile_loops.hpp"

#include <tyto/dtype.hpp>

#include "devices/cpu/instruction_set.hpp"

namespace tyto::cpu {

static_assert(dtype_count == element_types);

namespace {

#define TYTO_TILE_LOOPS(isa)                                                                                \
  {                                                                                                         \
    isa::boolean_operators, isa::i32_operators, isa::i64_operators, isa::u64_operators, isa::f32_operators, \
        isa::f64_operators, isa::conversions, isa::gathers, isa::scatters, isa::transposes                  \
  }
constexpr TileLoops baseline_loops = TYTO_TILE_LOOPS(baseline);
#if defined(TYTO_HAVE_X86_ISA)
constexpr TileLoops avx2_loops = TYTO_TILE_LOOPS(avx2);
#endif
#undef TYTO_TILE_LOOPS

}  // namespace

const TileLoops& tile_loops(InstructionSet set) noexcept {
#if defined(TYTO_HAVE_X86_ISA)
  if (set != InstructionSet::baseline) return avx2_loops;
#endif
  static_cast<void>(set);
  return baseline_loops;
}

}  // namespace tyto::cpu
