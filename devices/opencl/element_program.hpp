// A small program over elements, one operator or a fused group of them, and the one kernel it becomes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/recipe.hpp"

namespace tyto::opencl {

/// What is done for each index: loads, then instructions in order, then stores.
struct ElementProgram {
  /// Values are numbered: the inputs first, then the results of the instructions.
  struct Instruction {
    core::OpId op;
    DType dtype;                           // of the result
    std::vector<std::size_t> operands;     // values
    std::array<Scalar, 2> constants = {};  // of operators that make numbers: start and step, first and second
    std::int64_t draw = 0;                 // random operators
    std::int64_t width = 1;                // eye: columns
  };

  std::string name;
  std::vector<core::Operand> inputs;  // all with the shape of the outputs, but for keys
  std::vector<Instruction> instructions;
  std::vector<std::size_t> stored;  // the value that each output gets
  std::vector<core::Operand> outputs;
};

/// The program of an operator on its own; empty when it is not of this family.
std::optional<ElementProgram> element_program(const core::Step& step);

/// Whether an operator can stand in an ElementProgram.
bool is_elementwise(core::OpId op);

/// The kernel of a program.
Recipe element_recipe(const Context& context, const ElementProgram& program);

}  // namespace tyto::opencl
