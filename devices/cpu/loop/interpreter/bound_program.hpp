// SPDX-License-Identifier: MIT
// A loop bound to layouts and compiled loops for the interpreter: where each value lives, and what a launch does for
// each tile.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/loop/bound_loop.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"
#include "devices/cpu/loop/interpreter/tile_geometry.hpp"
#include "devices/cpu/loop/loop_types.hpp"

namespace tyto::cpu {

/// Tiles live on the stack of the thread that works on them. The memory touched should stay well inside the L1 cache.
inline constexpr std::size_t tile_memory = 64 * 1024;

/// Elements of an input brought into a tile before the instructions run.
struct Load {
  enum class Form : std::uint8_t {
    direct,     // the operand's memory is the tile, or begins with all that is wanted of it
    convert,    // contiguous, but of another type
    gather,     // strided; then converted where the type differs
    transpose,  // as gather, transposed: memory runs along the tile's columns
  };
  Form form = Form::direct;
  bool once = false;     // the same in all tiles
  bool per_row = false;  // the same along a row: one element repeated
  bool number = false;   // one element repeated everywhere
  std::uint16_t value = 0;
  std::uint16_t operand = 0;
  std::uint32_t staging = 0;  // where it is gathered before it is converted
  std::uint32_t width = 0;    // bytes of an element as stored
  TileLoop convert = nullptr;
  StridedLoop gather = nullptr;
  TransposeLoop transpose = nullptr;
};

/// A call of an operator's loop.
struct Instruction {
  TileLoop loop;
  std::uint16_t result;
  std::array<std::uint16_t, 3> operands;
};

/// A value written to an output after the instructions have run.
struct Store {
  enum class Form : std::uint8_t {
    direct,   // the instruction writes there itself
    convert,  // contiguous: converted, or copied, into place
    scatter,  // strided: converted where the type differs, then scattered
  };
  Form form = Form::convert;
  std::uint16_t value = 0;
  std::uint16_t operand = 0;
  std::uint32_t staging = 0;
  std::uint32_t width = 0;
  /// Inputs that are still read in memory after the instruction. A launch that lays the output over one of them has it
  /// written to a tile first, and from there.
  std::uint64_t read_later = 0;
  TileLoop convert = nullptr;
  StridedLoop scatter = nullptr;
};

/// A value with memory of its own, filled before the first tile.
struct Constant {
  std::uint16_t value;
  std::uint64_t bits;
  StridedLoop fill;
};

/// A program bound to layouts and loops: the data that a launch reads.
struct BoundProgram {
  static constexpr std::size_t most_values = 320;
  static constexpr std::uint32_t elsewhere = ~std::uint32_t{0};

  TileGeometry geometry;
  std::vector<Load> loads;
  std::vector<Constant> constants;
  std::vector<Instruction> instructions;
  std::vector<Store> stores;
  std::vector<std::uint32_t> tiles;  // by value: its tile's offset in the thread's memory, or elsewhere
  std::size_t inputs = 0;
  std::size_t memory = 0;
  std::size_t output_width = 0;  // bytes of an element of the first output
  double nanoseconds = 0;        // of the whole step on one thread

  const OperandLayout& layout(const Load& load) const { return geometry.layouts[load.operand]; }
  const OperandLayout& layout(const Store& store) const { return geometry.layouts[inputs + store.operand]; }
};

/// Binds a program to the longest tiles that fit in L1. `row_major`: elements keep their order, the first output being
/// dense. Throws DeviceError when an instruction has no loop for its types, and where there are more than most_values.
BoundProgram bind_program(const core::BoundLoop& bound, const TileLoops& loops, bool row_major);

}  // namespace tyto::cpu
