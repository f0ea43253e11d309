// SPDX-License-Identifier: MIT
// Sorts the instructions of a loop by the number of reductions before them.
#include "core/loop/loop_levels.hpp"

#include <algorithm>

#include "core/graph/cheap_operators.hpp"
#include "core/loop/loop_rows.hpp"

namespace tyto::core {

namespace {

class LevelPlanner {
 public:
  LevelPlanner(const LoopProgram& program, const std::vector<bool>& whole) : program_(program), whole_(whole) {
    plan_.depth.assign(program.values(), 0);
    plan_.last_reader.assign(program.values(), 0);
    at_hand_.assign(program.values(), false);
    for (std::size_t v = 0; v < program.first_instruction(); ++v) at_hand_[v] = true;
    for (std::size_t v = program.first_instruction(); v < program.values(); ++v) {
      std::size_t& depth = plan_.depth[v];
      for (const LoopValue operand : program.operands_of(v)) depth = std::max(depth, plan_.depth[operand]);
      if (is_fold(v)) ++depth;
      deepest_ = std::max(deepest_, depth);
    }
    for (std::size_t v = program.first_instruction(); v < program.values(); ++v) {
      const std::size_t at = is_fold(v) ? plan_.depth[v] - 1 : plan_.depth[v];
      for (const LoopValue operand : program.operands_of(v)) {
        plan_.last_reader[operand] = std::max(plan_.last_reader[operand], at);
      }
    }
    // Whole results are written last of all, when nothing is read any more over which they may lie.
    for (const LoopValue output : program.outputs) {
      if (whole_[output]) plan_.last_reader[output] = deepest_;
    }
  }

  LoopLevels plan(bool keeps) {
    plan_.levels.resize(deepest_ + 1);
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      const std::size_t depth = plan_.depth[v];
      LoopLevel& level = plan_.levels[is_fold(v) ? depth - 1 : depth];
      const auto value = static_cast<LoopValue>(v);
      if (is_fold(v)) level.folds.push_back(value);
      else if (!whole_[v]) level.row_values.push_back(value);
      if (!whole_[v]) at_hand_[v] = true;
    }
    for (std::size_t level = 0; level <= deepest_ && keeps; ++level) {
      for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
        if (!whole_[v] || plan_.depth[v] != level || plan_.last_reader[v] <= level || steps_again(v, 3) <= 2) continue;
        plan_.levels[level].kept.push_back(static_cast<LoopValue>(v));
        at_hand_[v] = true;
      }
    }
    return std::move(plan_);
  }

 private:
  bool is_fold(std::size_t value) const { return may_fold(program_.instruction_of(value).op); }

  /// Instructions that compute a whole value from available ones, counted up to `enough`: values that read one value
  /// twice would double the count, and the time, step by step.
  std::size_t steps_again(std::size_t value, std::size_t enough) const {
    if (at_hand_[value]) return 0;
    if (!is_cheap(program_.instruction_of(value).op)) return enough;
    std::size_t steps = 1;
    for (const LoopValue operand : program_.operands_of(value)) {
      if (steps >= enough) return enough;
      steps += steps_again(operand, enough - steps);
    }
    return steps;
  }

  const LoopProgram& program_;
  const std::vector<bool>& whole_;
  LoopLevels plan_;
  std::vector<bool> at_hand_;  // by value: given, one a row, or kept
  std::size_t deepest_ = 0;
};

}  // namespace

LoopLevels plan_levels(const LoopProgram& program, const std::vector<bool>& whole, bool keeps) {
  return LevelPlanner(program, whole).plan(keeps);
}

LoopPart part_of(const LoopProgram& program, std::span<const LoopValue> wanted, const std::vector<bool>& at_hand) {
  LoopPart part;
  std::vector<LoopValue> pending(wanted.begin(), wanted.end());
  std::vector<bool> needed(program.values(), false);
  for (const LoopValue value : wanted) needed[value] = true;
  for (std::size_t v = program.values(); v-- > program.first_instruction();) {
    if (!needed[v] || at_hand[v]) continue;
    for (const LoopValue operand : program.operands_of(v)) needed[operand] = true;
  }
  const auto is_constant = [&](std::size_t v) { return v >= program.inputs && v < program.first_instruction(); };
  std::vector<LoopValue> number(program.values(), 0);
  LoopValue next = 0;
  for (std::size_t v = 0; v < program.values(); ++v) {
    if (!needed[v] || is_constant(v) || !(at_hand[v] || v < program.inputs)) continue;
    part.inputs.push_back(static_cast<LoopValue>(v));
    number[v] = next++;
  }
  part.program.inputs = next;
  for (std::size_t v = program.inputs; v < program.first_instruction(); ++v) {
    if (!needed[v]) continue;
    part.program.constants.push_back(program.constants[v - program.inputs]);
    number[v] = next++;
  }
  for (std::size_t v = program.first_instruction(); v < program.values(); ++v) {
    if (!needed[v] || at_hand[v]) continue;
    LoopInstruction step = program.instruction_of(v);
    for (LoopValue& operand : step.operands) operand = number[operand];
    part.program.instructions.push_back(step);
    number[v] = next++;
  }
  for (const LoopValue value : wanted) part.program.outputs.push_back(number[value]);
  return part;
}

}  // namespace tyto::core
