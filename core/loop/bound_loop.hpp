// SPDX-License-Identifier: MIT
// A loop program and the operands that it runs over.
#pragma once

#include <vector>

#include "core/device/device.hpp"
#include "core/graph/attributes.hpp"

namespace tyto::core {

/// A loop and the operands it runs over: inputs broadcast to its shape, outputs with ones for the axes they were
/// reduced along.
struct BoundLoop {
  LoopAttributes loop;
  std::vector<Operand> inputs, outputs;
  std::vector<Shape> given;  // the inputs' shapes before they were broadcast
  /// The operand of the step of which each input and output is a part; empty where none is a part.
  std::vector<std::size_t> input_of, output_of;

  std::size_t operand_of_input(std::size_t i) const { return input_of.empty() ? i : input_of[i]; }
  std::size_t operand_of_output(std::size_t i) const { return output_of.empty() ? i : output_of[i]; }
  std::vector<DType> input_types() const;
  /// whole_values() of the program.
  std::vector<bool> whole() const;
};

}  // namespace tyto::core
