// SPDX-License-Identifier: MIT
// A program over short runs of elements: what a fused group of element-wise operators is to the CPU.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/graph/operator.hpp"

namespace tyto::cpu {

/// The type an operator computes in: bools and narrow integers in i32, u32 in i64, which holds all of it, u64, which
/// nothing wider holds, in itself, f16 and bf16 in f32.
constexpr DType compute_type(DType type) {
  if (type == DType::u32) return DType::i64;
  if (type == DType::boolean || (is_integer(type) && size_of(type) < 4)) return DType::i32;
  return type == DType::f16 || type == DType::bf16 ? DType::f32 : type;
}

/// Instructions over virtual registers. A register holds one run of elements of one type and is given its value once:
/// by an input, a constant or an instruction. The program says nothing about shapes; it is run over views of one shape
/// (a stride of 0 broadcasts), element i of the outputs depending on elements i of the inputs alone.
struct TileProgram {
  static constexpr std::size_t most_registers = 256;
  static constexpr std::size_t most_operands = 64;  ///< inputs, and as many outputs

  using Register = std::uint16_t;

  /// Elements of an operand, converted to the register's type.
  struct Input {
    Register result;
    int operand;
  };
  struct Constant {
    Register result;
    Scalar value;
  };
  /// An element-wise operator, or `cast` from the operand's type to the result's. The type that the operator works in
  /// is its last operand's: boolean (bytes 0 or 1, for the logical and bitwise operators and selections), i32, i64,
  /// u64, f32 or f64. Comparisons give boolean.
  struct Instruction {
    core::OpId op;
    Register result;
    std::array<Register, 3> operands;
  };
  /// The register converted to the operand's type and written to it.
  struct Output {
    Register source;
    int operand;
  };

  /// A reduction of each row's elements: its partial result (jit::partial_type) is written to the operand, which has
  /// one a row. Only machine code does this; prepare_ranges gives null where there is none.
  struct Reduction {
    core::OpId op;
    Register source;
    int operand;
  };

  /// Whether an operand is one part of complex numbers; the other part of each element then lies beside it.
  enum class Part : std::uint8_t { whole, real, imaginary };

  std::vector<DType> registers;  ///< their types
  std::vector<Input> inputs;
  std::vector<Constant> constants;
  std::vector<Instruction> instructions;
  std::vector<Output> outputs;
  std::vector<Reduction> reductions;
  std::vector<Part> input_parts, output_parts;  ///< empty: all are whole

  Register input(int operand, DType type) {
    inputs.push_back({add(type), operand});
    return inputs.back().result;
  }
  Register constant(Scalar value, DType type) {
    constants.push_back({add(type), value});
    return constants.back().result;
  }
  Register apply(core::OpId op, DType result, std::initializer_list<Register> operands) {
    Instruction instruction{op, add(result), {}};
    std::copy(operands.begin(), operands.end(), instruction.operands.begin());
    // Operands that the operator does not have repeat the last one.
    for (std::size_t i = operands.size(); i < 3; ++i) instruction.operands[i] = operands.end()[-1];
    instructions.push_back(instruction);
    return instruction.result;
  }
  void output(Register source, int operand) { outputs.push_back({source, operand}); }
  void reduce(core::OpId op, Register source, int operand) { reductions.push_back({op, source, operand}); }

 private:
  Register add(DType type) {
    registers.push_back(type);
    return static_cast<Register>(registers.size() - 1);
  }
};

}  // namespace tyto::cpu
