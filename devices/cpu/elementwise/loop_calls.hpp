// The loops that a tile program calls, one after the other, for each tile.
#pragma once

#include <array>
#include <vector>

#include "devices/cpu/elementwise/tile_loops.hpp"
#include "devices/cpu/tile_program.hpp"

namespace tyto::cpu {

/// An instruction with its loop, or a chain of several that one loop does. One of the three loops is set.
struct LoopCall {
  static constexpr std::size_t most_operands = ChainLoop::most_leaves;

  TileLoop loop = nullptr;
  decltype(ChainLoop::run) chain = nullptr;
  decltype(ChainLoop::sum) sum = nullptr;
  TileProgram::Register result = 0;
  std::array<TileProgram::Register, most_operands> operands{};  ///< those that it does not have repeat others
  std::array<bool, most_operands> numbers{};                    ///< which of them it reads one element of
  double nanoseconds = 0;                                       ///< an element, roughly, on one thread
};

/// The calls that a program makes. `numbers` says which registers hold one element repeated. Results that only the next
/// operator reads stay within one loop where there is a loop for the chain. Throws DeviceError when an instruction has
/// no loop for its types.
std::vector<LoopCall> loop_calls(const TileProgram& program, const std::vector<bool>& numbers, const TileLoops& loops);

/// The same for a program whose only output is summed: the last call adds to the sum. Empty where no loop does.
std::vector<LoopCall> summing_calls(const TileProgram& program, const std::vector<bool>& numbers,
                                    const TileLoops& loops);

}  // namespace tyto::cpu
