// The loops that a tile program calls, one after the other, for each tile.
#pragma once

#include <array>
#include <vector>

#include "devices/cpu/elementwise/tile_loops.hpp"
#include "devices/cpu/tile_program.hpp"

namespace tyto::cpu {

/// An instruction with its loop, or two that one loop does.
struct LoopCall {
  TileLoop loop;
  core::OpId op;
  TileProgram::Register result;
  std::array<TileProgram::Register, 3> operands;
  DType type;          // that it works in
  double nanoseconds;  // an element, roughly, on one thread
};

/// The calls that a program makes. A result that only the next operator reads is passed on within one loop where there
/// is a loop for the pair. Throws DeviceError when an instruction has no loop for its types.
std::vector<LoopCall> loop_calls(const TileProgram& program, const TileLoops& loops);

}  // namespace tyto::cpu
