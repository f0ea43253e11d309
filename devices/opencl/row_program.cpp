// Instructions are sorted by how many reductions come before them: one walk along a row for each such depth.
#include "devices/opencl/row_program.hpp"

#include <algorithm>

#include "core/cheap_operators.hpp"
#include "core/op_ids.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;
using Instruction = ElementProgram::Instruction;

class Planner {
 public:
  explicit Planner(const RowProgram& program) : program_(program), first_(program.elements.inputs.size()) {
    const std::size_t values = first_ + program.elements.instructions.size();
    depth_.assign(values, 0);
    last_reader_.assign(values, 0);
    kept_.assign(values, false);
    for (std::size_t v = first_; v < values; ++v) {
      for (const std::size_t operand : instruction(v).operands) depth_[v] = std::max(depth_[v], depth_[operand]);
      if (folds(instruction(v))) ++depth_[v];
      deepest_ = std::max(deepest_, depth_[v]);
    }
    for (std::size_t v = first_; v < values; ++v) {
      const std::size_t walk = folds(instruction(v)) ? depth_[v] - 1 : depth_[v];
      for (const std::size_t operand : instruction(v).operands) {
        last_reader_[operand] = std::max(last_reader_[operand], walk);
      }
    }
    // Whole results are written last of all, when nothing is read any more over which they may lie.
    for (const std::size_t value : program.elements.stored) {
      if (program.whole[value]) last_reader_[value] = deepest_;
    }
  }

  std::vector<RowWalk> walks(bool keeps) {
    std::vector<RowWalk> walks;
    for (std::size_t depth = 0; depth <= deepest_; ++depth) walks.push_back(walk(depth, keeps));
    return walks;
  }

 private:
  const Instruction& instruction(std::size_t value) const { return program_.elements.instructions[value - first_]; }
  bool is_step(std::size_t value) const { return value >= first_ && instruction(value).op != OpId::fill; }

  /// Steps that it takes to compute a whole value from what is at hand, counted no further than to `enough`: values
  /// that read one value twice would double the count, and the time, step by step.
  std::size_t steps_again(std::size_t value, std::size_t enough) const {
    if (!is_step(value) || kept_[value] || !program_.whole[value]) return 0;
    if (!core::is_cheap(instruction(value).op)) return enough;
    std::size_t steps = 1;
    for (const std::size_t operand : instruction(value).operands) {
      if (steps >= enough) return enough;
      steps += steps_again(operand, enough - steps);
    }
    return steps;
  }

  RowWalk walk(std::size_t depth, bool keeps) {
    RowWalk walk;
    const std::size_t values = depth_.size();
    std::vector<bool> needed(values, false);
    const std::vector<bool> at_hand = kept_;
    for (std::size_t v = first_; v < values; ++v) {
      if (folds(instruction(v))) {
        if (depth_[v] != depth + 1) continue;
        walk.folds.push_back(v);
        needed[instruction(v).operands[0]] = true;
      } else if (!program_.whole[v]) {
        if (depth_[v] == depth && is_step(v)) walk.row_values.push_back(v);
      } else if (keeps && depth_[v] == depth && last_reader_[v] > depth && steps_again(v, 3) > 2) {
        walk.kept.push_back(v);
        kept_[v] = needed[v] = true;
      }
    }
    if (depth == deepest_) {
      for (const std::size_t value : program_.elements.stored) needed[value] = true;
    }
    for (std::size_t v = values; v-- > 0;) {
      if (!needed[v] || !program_.whole[v]) continue;
      walk.computed.push_back(v);
      if (v < first_ || at_hand[v]) continue;
      for (const std::size_t operand : instruction(v).operands) needed[operand] = true;
    }
    std::ranges::reverse(walk.computed);
    return walk;
  }

  const RowProgram& program_;
  std::size_t first_;                     // value that an instruction makes
  std::vector<std::size_t> depth_;        // by value, as all that follows: reductions before it
  std::vector<std::size_t> last_reader_;  // the last walk that reads it
  std::vector<bool> kept_;
  std::size_t deepest_ = 0;
};

}  // namespace

bool folds(const ElementProgram::Instruction& instruction) {
  switch (instruction.op) {
    case OpId::sum:
    case OpId::mean:
    case OpId::prod:
    case OpId::min:
    case OpId::max: return true;
    default: return false;
  }
}

std::vector<RowWalk> walks_of(const RowProgram& program, bool keeps) { return Planner(program).walks(keeps); }

}  // namespace tyto::opencl
