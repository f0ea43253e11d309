// SPDX-License-Identifier: MIT
// Builds the program of a fused group: ports of the graph become its values, scalar constants its constants.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "optimiser/passes/graph_names.hpp"

namespace tyto::optimiser {

/// The number that a port holds in every element, if that is known now and its type can express it exactly.
std::optional<core::LoopConstant> scalar_of(const core::Graph& graph, core::Port port);

/// Steps are added in an order in which operands precede them; a port that no step made becomes an input or a constant.
class FusedGroup {
 public:
  FusedGroup(const core::Graph& graph, const Shape& shape) : graph_(graph), shape_(shape) {}

  /// Whether a step made this port.
  bool holds(core::Port port) const { return find(port) != nullptr; }
  void add_instruction(core::OpId op, core::Port result, std::span<const core::Port> operands);
  /// Makes the last step a reduction over these axes.
  void fold_over(const IntList& axes) { axes_ = axes; }
  void add_output(core::Port port) { outputs_.push_back(port); }

  std::span<const core::Port> inputs() const { return inputs_; }
  core::LoopAttributes attributes() const;

 private:
  /// A value by its list and its index there.
  struct ValueRef {
    enum class List : std::uint8_t { inputs, constants, instructions } list;
    std::size_t at;
  };
  struct Instruction {
    core::OpId op;
    DType dtype;
    std::array<ValueRef, 3> operands;
    std::size_t operand_count;
  };

  const ValueRef* find(core::Port port) const;
  ValueRef reference_to(core::Port port);

  const core::Graph& graph_;
  Shape shape_;
  IntList axes_;
  std::vector<core::Port> inputs_;
  std::vector<core::LoopConstant> constants_;
  std::vector<Instruction> instructions_;
  std::vector<core::Port> outputs_;
  std::vector<std::pair<core::Port, ValueRef>> values_;  // few, so they are looked through, the latest first
};

}  // namespace tyto::optimiser
