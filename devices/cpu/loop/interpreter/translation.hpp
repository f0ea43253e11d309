// SPDX-License-Identifier: MIT
// A loop program without reductions as a tile program.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/loop/loop_program.hpp"
#include "devices/cpu/loop/tile_program.hpp"

namespace tyto::cpu {

/// Registers round every value to its type as memory would, before another step reads it.
class Translation {
 public:
  /// The first `written` results are written, which rounds them; the others are read by reductions.
  Translation(const core::LoopProgram& program, std::span<const DType> inputs, std::size_t written = SIZE_MAX);

  const TileProgram& tiles() const { return tiles_; }
  DType result_type(std::size_t i) const { return types_[loop_.outputs[i]]; }

 private:
  using Register = TileProgram::Register;

  /// A register that holds the value in the given type; a conversion is made once.
  Register as(std::uint16_t value, DType type);
  void add(const core::LoopInstruction& instruction, std::size_t value);

  const core::LoopProgram& loop_;
  std::vector<DType> types_;
  std::vector<std::map<DType, Register>> registers_;  // of each value, by type
  std::vector<Register> made_;                        // by value: as its operator made it, not rounded yet
  TileProgram tiles_;
};

}  // namespace tyto::cpu
