// A tile program bound to layouts and loops: where each register lives, and what a launch does for each tile.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "devices/cpu/elementwise/loop_calls.hpp"
#include "devices/cpu/elementwise/tile_geometry.hpp"
#include "devices/cpu/tile_program.hpp"

namespace tyto::cpu {

/// Tiles live on the stack of the thread that works on them. What is touched should stay well inside the L1 cache.
inline constexpr std::size_t tile_memory = 64 * 1024;

/// Elements of an input brought into a tile before the instructions run.
struct Load {
  enum class Form : std::uint8_t {
    direct,   // the operand's memory is the tile, or begins with all that is wanted of it
    convert,  // contiguous, but of another type
    gather,   // strided; then converted where the type differs
    turn,     // as gather, but memory runs along the tile's columns
  };
  Form form = Form::direct;
  bool once = false;     // the same in all tiles
  bool per_row = false;  // the same along a row: one element repeated
  bool number = false;   // one element repeated everywhere
  bool single = false;   // who reads it wants one element only
  std::uint16_t value = 0;
  std::uint16_t operand = 0;
  std::uint32_t staging = 0;  // where it is gathered before it is converted
  std::uint32_t width = 0;    // bytes of an element as stored
  TileLoop convert = nullptr;
  StridedLoop gather = nullptr;
  TransposeLoop transpose = nullptr;
};

/// One call of a loop: of one operator, or of a chain.
struct Instruction {
  TileLoop loop;
  decltype(ChainLoop::run) chain;
  decltype(ChainLoop::run) uncached;  // instead of either, for a result that overlaps no operand
  std::array<std::uint16_t, ChainLoop::most_results> results;
  std::array<std::uint16_t, LoopCall::most_operands> operands;

  void call(void* const* to, const void* const* from, std::size_t count, bool past_caches) const {
    if (past_caches) uncached(to, from, count);
    else if (chain != nullptr) chain(to, from, count);
    else loop(to[0], from[0], from[1], from[2], count);
  }
};

/// The last call of a program whose elements are summed.
struct Sum {
  decltype(ChainLoop::sum) add = nullptr;
  std::array<std::uint16_t, LoopCall::most_operands> operands{};
};

/// A register written to an output after the instructions have run.
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

/// A register with memory of its own, filled before the first tile.
struct Constant {
  std::uint16_t value;
  bool single;  // who reads it wants one element only
  std::uint64_t bits;
  StridedLoop fill;
};

/// What one call over a line reads and writes: a line is a tile of one row, and all its operands lie where the call
/// wants them, so that from line to line addresses are moved on and nothing else is done.
struct Lines {
  struct Moved {
    std::uint16_t slot;       // which of the call's operands or results
    std::uint16_t place;      // where it lies
    std::ptrdiff_t distance;  // from line to line
  };
  bool apply = false;
  std::vector<Moved> operands, results;  // constants are not moved
  std::int64_t in_a_row = 0;             // so many neighbouring lines have these distances
  bool all_in_a_row = false;             // no other lines follow
};

/// A program bound to layouts and loops: all that a launch reads.
struct BoundProgram {
  static constexpr std::uint32_t elsewhere = ~std::uint32_t{0};

  TileGeometry geometry;
  std::vector<Load> loads;
  std::vector<Constant> constants;
  std::vector<Instruction> instructions;
  std::vector<Store> stores;
  Sum sum;  // instead of stores, for a program whose elements are summed
  Lines lines;
  std::vector<std::uint32_t> tiles;  // by register: its tile's offset in the thread's memory, or elsewhere
  std::size_t inputs = 0;
  std::size_t memory = 0;
  std::size_t output_width = 0;  // bytes of an element of the first output
  double nanoseconds = 0;        // of the whole step on one thread

  /// A launch that lays the result over no operand writes it past the caches.
  bool has_uncached() const {
    return instructions.size() == 1 && instructions[0].uncached != nullptr && stores.size() == 1 &&
           stores[0].form == Store::Form::direct;
  }
  const Place& place(const Load& load) const { return geometry.places[load.operand]; }
  const Place& place(const Store& store) const { return geometry.places[inputs + store.operand]; }
};

/// With tiles as long as the L1 cache lets them be. `row_major`: elements keep their order, the first output being
/// dense. `uncached`: where one loop is all, it writes past the caches. Throws DeviceError when an instruction has no
/// loop for its types.
BoundProgram bind_program(const TileProgram& program, std::span<const core::Operand> inputs,
                          std::span<const core::Operand> outputs, const TileLoops& loops, bool row_major,
                          bool uncached);

/// The program, whose only output is dense and nowhere, with its elements summed instead, as one line after another of
/// `length` elements; without a sum where no loop does that in the order in which a line in memory is added.
BoundProgram bind_sum(const TileProgram& program, std::span<const core::Operand> inputs, const core::Operand& output,
                      const TileLoops& loops, std::int64_t length);

}  // namespace tyto::cpu
