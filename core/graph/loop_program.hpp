// SPDX-License-Identifier: MIT
// LoopProgram: a loop over the elements of one shape as a flat list of instructions, as which every device runs single
// operators over elements and rows and the groups of them that the optimiser fuses.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tyto/dtype.hpp"
#include "tyto/scalar.hpp"

namespace tyto::core {

enum class OpId : std::uint16_t;

/// A value's number in its program.
using LoopValue = std::uint16_t;

/// A number that the program holds; the type can express it exactly.
struct LoopConstant {
  Scalar value;
  DType dtype = DType::f32;
  friend bool operator==(const LoopConstant& a, const LoopConstant& b) {
    return a.dtype == b.dtype && is_same(a.value, b.value);
  }
};

/// An element-wise operator or `cast` on values made before, or a reduction over the loop's axes, which keeps them as
/// ones and of which there may be several. Operands that it does not have are 0.
struct LoopInstruction {
  OpId op = {};
  DType dtype = DType::f32;  // of the result, which is rounded to it before anybody reads it
  std::array<LoopValue, 3> operands = {};
  friend bool operator==(const LoopInstruction&, const LoopInstruction&) = default;
};

/// Values are numbered: the inputs, then the constants, then the instructions' results.
struct LoopProgram {
  std::uint16_t inputs = 0;
  std::vector<LoopConstant> constants;
  std::vector<LoopInstruction> instructions;
  std::vector<LoopValue> outputs;  // the value that each result gets

  std::size_t first_instruction() const { return inputs + constants.size(); }
  std::size_t values() const { return first_instruction() + instructions.size(); }
  /// The instruction that makes a value, which is no input and no constant.
  const LoopInstruction& instruction_of(std::size_t value) const { return instructions[value - first_instruction()]; }
  /// The values that its instruction reads.
  std::span<const LoopValue> operands_of(std::size_t value) const;
  friend bool operator==(const LoopProgram&, const LoopProgram&) = default;
};

/// The types of a program's values, given those of its inputs.
std::vector<DType> value_types(const LoopProgram& program, std::span<const DType> inputs);

/// "v0=multiply(x0,2); v1=add(v0,x1) -> v1": inputs are x0, x1, ..., instructions v0, v1, ...
std::string to_string(const LoopProgram& program);

std::size_t hash_of(const LoopProgram& program);

}  // namespace tyto::core
