// The loops that a tile program calls, one after the other, for each tile.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "devices/cpu/elementwise/tile_loops.hpp"
#include "devices/cpu/tile_program.hpp"

namespace tyto::cpu {

/// Rough nanoseconds an element on one thread, in f32: what decides whether threads are worth waking, and memory worth
/// fetching ahead.
double nanoseconds_of(core::OpId op);
/// The same for all of a program's instructions, in their types.
double nanoseconds_of(const TileProgram& program);

/// An instruction with its loop, or a chain of several that one loop does. One of the three loops is set.
struct LoopCall {
  static constexpr std::size_t most_operands = ChainLoop::most_leaves;

  TileLoop loop = nullptr;
  decltype(ChainLoop::run) chain = nullptr;
  decltype(ChainLoop::run) uncached = nullptr;  ///< the same past the caches, of the same operands; may be missing
  decltype(ChainLoop::sum) sum = nullptr;
  std::size_t result_count = 1;
  std::array<TileProgram::Register, ChainLoop::most_results> result_list{};  ///< those that it does not have repeat one
  std::array<TileProgram::Register, most_operands> operands{};               ///< likewise
  std::array<bool, most_operands> numbers{};                                 ///< which of them it reads one element of
  std::array<bool, most_operands> used{};                                    ///< which of them it reads at all
  double nanoseconds = 0;                                                    ///< an element, roughly, on one thread

  std::span<const TileProgram::Register> results() const { return {result_list.data(), result_count}; }
  bool makes(TileProgram::Register value) const { return std::ranges::find(results(), value) != results().end(); }
};

/// The calls that a program makes. `numbers` says which registers hold one element repeated. Results that only the next
/// operator reads stay within one loop where there is a loop for the chain. Throws DeviceError when an instruction has
/// no loop for its types.
std::vector<LoopCall> loop_calls(const TileProgram& program, const std::vector<bool>& numbers, const TileLoops& loops);

/// The same for a program whose only output is summed: the last call adds to the sum. Empty where no loop does.
std::vector<LoopCall> summing_calls(const TileProgram& program, const std::vector<bool>& numbers,
                                    const TileLoops& loops);

}  // namespace tyto::cpu
