// A fused program as a tile program.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/fused.hpp"
#include "devices/cpu/tile_program.hpp"

namespace tyto::cpu {

/// Registers round every value to its type as memory would. The program has no reductions.
class Translation {
 public:
  Translation(const core::FusedProgram& program, std::span<const DType> inputs);

  const TileProgram& tiles() const { return tiles_; }
  DType result_type(std::size_t i) const { return types_[group_.outputs[i]]; }

 private:
  using Register = TileProgram::Register;

  /// A register that holds the value in the given type; a conversion is made once.
  Register as(std::uint16_t value, DType type);
  void add(const core::FusedStep& step, std::size_t value);

  const core::FusedProgram& group_;
  std::vector<DType> types_;
  std::vector<std::map<DType, Register>> registers_;  // of each value, by type
  TileProgram tiles_;
};

}  // namespace tyto::cpu
