// SPDX-License-Identifier: MIT
// A loop body prepared for register allocation: values that are invariant in a row, and the uses of each value.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "devices/cpu/loop/jit/kernel_spec.hpp"

namespace tyto::cpu::jit {

class Body {
 public:
  /// `one_mask`: masks of 32-bit and of 64-bit lanes are the same.
  Body(const KernelSpec& spec, bool one_mask);

  const Code& code;
  std::vector<Value> root;  ///< by value: the one whose register it shares (reinterpreted values share their origin's)
  std::vector<Value> row;   ///< computed once a row, in order; no constants
  std::vector<Value> element;  ///< computed for each vector, in order
  std::vector<bool> same_in_row;
  /// Positions in `element` of the readers of a root, ascending; reductions and then stores come after the end of them
  /// all.
  std::span<const int> uses(Value value) const {
    const auto i = static_cast<std::size_t>(value);
    return std::span(positions_).subspan(first_use_[i], first_use_[i + 1] - first_use_[i]);
  }
  int pressure = 0;  ///< most values of `element` alive at once

  bool is_constant(Value value) const { return code[root[static_cast<std::size_t>(value)]].op == Op::constant; }
  /// The operands of the value; one that it reads twice is listed twice.
  template <class Visit>
  void operands(Value value, const Visit& visit) const {
    const Instruction& instruction = code[value];
    for (const Value operand : instruction.operands) {
      if (operand != no_value) visit(root[static_cast<std::size_t>(operand)]);
    }
    if (instruction.op != Op::call && instruction.op != Op::call_unless) return;
    for (const Value operand : code.calls[instruction.immediate].operands) {
      if (operand != no_value) visit(root[static_cast<std::size_t>(operand)]);
    }
  }

 private:
  void sort_uses(const std::vector<std::pair<Value, int>>& reads);

  std::vector<int> positions_;          // of uses, by value
  std::vector<std::size_t> first_use_;  // of each value in `positions_`, and an end
};

}  // namespace tyto::cpu::jit
