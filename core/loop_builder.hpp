// Writing loop programs: values in any order, numbered as LoopProgram asks for when all are there.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "core/loop_program.hpp"

namespace tyto::core {

class LoopBuilder {
 public:
  /// The inputs are the first values.
  explicit LoopBuilder(std::span<const DType> inputs);

  LoopValue constant(Scalar value, DType dtype);
  LoopValue apply(OpId op, DType dtype, std::initializer_list<LoopValue> operands);
  /// The same instruction on these operands.
  LoopValue apply(const LoopInstruction& step, std::span<const LoopValue> operands);
  /// The value in another type, or itself.
  LoopValue as(DType dtype, LoopValue value);

  DType type(LoopValue value) const { return made_[value].dtype; }

  LoopProgram finish(std::span<const LoopValue> outputs) const;

 private:
  enum class Kind : std::uint8_t { input, constant, step };
  struct Made {
    Kind kind;
    DType dtype;
    std::size_t at;  // among its kind
  };
  LoopValue add(Kind kind, DType dtype, std::size_t at);

  std::vector<Made> made_;
  std::uint16_t inputs_;
  std::vector<LoopConstant> constants_;
  std::vector<LoopInstruction> instructions_;
};

}  // namespace tyto::core
