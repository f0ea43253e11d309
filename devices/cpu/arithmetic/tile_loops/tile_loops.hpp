// SPDX-License-Identifier: MIT
// The compiled loops that the interpreter calls: one per operator, compute type and instruction set. Machine code calls
// them too, a vector at a time, for what it has no code for.
//
// Nothing but headers of types is included: the sources that define the tables are compiled for one instruction set
// each and must not emit inline functions that the linker could share with the others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tyto::cpu {

/// out[i] = f(a[i], b[i], c[i]) for n elements. Operands that the function does not have are ignored. `out` may be one
/// of the operands where the element sizes agree; otherwise it overlaps none.
using TileLoop = void (*)(void* out, const void* a, const void* b, const void* c, std::size_t n);

/// Copies n elements of one width to or from places `stride` bytes apart, the other side being contiguous.
using StridedLoop = void (*)(void* to, const void* from, std::ptrdiff_t stride, std::size_t n);

/// Writes rows x columns elements in rows `pitch` elements apart; in the source the elements of a column are
/// neighbours, and columns lie `stride` bytes apart.
using TransposeLoop = void (*)(void* to, std::size_t pitch, const void* from, std::ptrdiff_t stride, std::size_t rows,
                               std::size_t columns);

/// Element types in the order of DType, as the tables index them. Complex ones have no entries: loops see their parts.
inline constexpr int element_types = 15;
/// Element widths: 1, 2, 4 and 8 bytes.
inline constexpr int element_widths = 4;

/// The loops of one instruction set. Operators are in the order of ops/elementwise.def, which is that of their OpIds. A
/// null entry: the operator is not defined on the type.
struct TileLoops {
  const TileLoop* boolean;  ///< by operator; operands and results are bytes 0 or 1
  const TileLoop* i32;
  const TileLoop* i64;
  const TileLoop* u64;
  const TileLoop* f32;
  const TileLoop* f64;
  const TileLoop (*convert)[element_types];  ///< [from][to]
  const StridedLoop* gather;                 ///< by width; a stride of 0 repeats one element
  const StridedLoop* scatter;
  const TransposeLoop* transpose;  ///< by width
};

#define TYTO_TILE_LOOP_TABLES(isa)                                 \
  namespace isa {                                                  \
  extern const TileLoop boolean_operators[];                       \
  extern const TileLoop i32_operators[];                           \
  extern const TileLoop i64_operators[];                           \
  extern const TileLoop u64_operators[];                           \
  extern const TileLoop f32_operators[];                           \
  extern const TileLoop f64_operators[];                           \
  extern const TileLoop conversions[element_types][element_types]; \
  extern const StridedLoop gathers[element_widths];                \
  extern const StridedLoop scatters[element_widths];               \
  extern const TransposeLoop transposes[element_widths];           \
  }
TYTO_TILE_LOOP_TABLES(baseline)
TYTO_TILE_LOOP_TABLES(avx2)
#undef TYTO_TILE_LOOP_TABLES

enum class InstructionSet;

/// The loops of an instruction set, or of the widest narrower one that there are loops for: machine code takes care of
/// wider vectors.
const TileLoops& tile_loops(InstructionSet set) noexcept;

}  // namespace tyto::cpu
