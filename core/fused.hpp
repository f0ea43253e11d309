// A fused group of element-wise operators as one operator knows it: a flat program over the elements of one shape.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tyto/dtype.hpp"
#include "tyto/scalar.hpp"

namespace tyto::core {

enum class OpId : std::uint16_t;

/// A number that the program holds; the type can express it exactly.
struct FusedConstant {
  Scalar value;
  DType dtype = DType::f32;
  friend bool operator==(const FusedConstant&, const FusedConstant&) = default;
};

/// An element-wise operator or `cast` on values made before, or a reduction over the group's axes, which keeps them as
/// ones and of which there may be several. Operands that it does not have are 0.
struct FusedStep {
  OpId op = {};
  DType dtype = DType::f32;  // of the result, which is rounded to it before anybody reads it
  std::array<std::uint16_t, 3> operands = {};
  friend bool operator==(const FusedStep&, const FusedStep&) = default;
};

/// Values are numbered: the inputs, then the constants, then the steps' results.
struct FusedProgram {
  std::uint16_t inputs = 0;
  std::vector<FusedConstant> constants;
  std::vector<FusedStep> steps;
  std::vector<std::uint16_t> outputs;  // the value that each result of the node gets

  std::size_t first_step() const { return inputs + constants.size(); }
  std::size_t values() const { return first_step() + steps.size(); }
  friend bool operator==(const FusedProgram&, const FusedProgram&) = default;
};

/// "v0=multiply(x0,2); v1=add(v0,x1) -> v1": inputs are x0, x1, ..., steps v0, v1, ...
std::string to_string(const FusedProgram& program);

std::size_t hash_of(const FusedProgram& program);

}  // namespace tyto::core
