// SPDX-License-Identifier: MIT
// Operator applications as loops: the one place that says how operators over elements and rows read as loop programs.
#pragma once

#include <optional>
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
  /// Of which operand of the step each input and output is a part; empty where each is one whole.
  std::vector<std::size_t> input_of, output_of;

  std::size_t operand_of_input(std::size_t i) const { return input_of.empty() ? i : input_of[i]; }
  std::size_t operand_of_output(std::size_t i) const { return output_of.empty() ? i : output_of[i]; }
  std::vector<DType> input_types() const;
  /// By value of the program, see whole_values.
  std::vector<bool> whole() const;
};

/// The loop of an element-wise operator, cast, copy, softmax, log_softmax, var, logsumexp or fused group; nothing for
/// other operators. Softmaxes, variances and logarithms of sums come as simple reductions; those of a group
/// stay as they are. The sum of a softmax is in f64 where the device has it. Loops over complex numbers come as loops
/// over their parts. Of a group, quotients and remainders of powers of two come as shifts and masks.
std::optional<BoundLoop> loop_of(const Step& step, bool has_f64 = true);

/// The type that elements are squared or exponentiated in before they are added up: never one of 16 bits.
DType wide_enough(DType type, bool has_f64);

/// The loop with the variances and logarithms of sums among its instructions spelt out as simple reductions.
BoundLoop with_simple_reductions(const BoundLoop& bound, bool has_f64);

}  // namespace tyto::core
