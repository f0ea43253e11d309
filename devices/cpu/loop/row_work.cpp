// SPDX-License-Identifier: MIT
// Counts bytes and operators of a loop over rows.
#include "devices/cpu/loop/row_work.hpp"

#include <algorithm>

#include "core/graph/cheap_operators.hpp"
#include "core/loop/loop_rows.hpp"

namespace tyto::cpu {

using core::LoopValue;

RowWork::RowWork(const core::BoundLoop& bound, const core::LoopLevels& levels, const std::vector<bool>& whole)
    : bound_(bound),
      levels_(levels),
      whole_(whole),
      types_(core::value_types(bound.loop.program, bound.input_types())),
      by_depth_(levels.levels.size()) {
  const core::LoopProgram& program = bound.loop.program;
  for (std::size_t v = program.first_instruction(); v < program.values(); ++v) {
    if (!whole[v] || core::is_reduction(program, v)) continue;
    by_depth_[levels.depth[v]] += core::is_cheap(program.instruction_of(v).op) ? 1 : 20;
  }
}

bool RowWork::advances(LoopValue input) const {
  const core::View& view = bound_.inputs[input].view;
  return view.count() == element_count(bound_.loop.shape) && !core::repeats_elements(view);
}

double RowWork::read_bytes() const {
  double bytes = 0;
  for (LoopValue input = 0; input < bound_.inputs.size(); ++input) {
    if (advances(input)) bytes += bytes_of(input);
  }
  return bytes;
}

double RowWork::written_bytes() const {
  double bytes = 0;
  for (const LoopValue output : bound_.loop.program.outputs) {
    if (whole_[output]) bytes += bytes_of(output);
  }
  return bytes;
}

double RowWork::block_bytes() const {
  double bytes = read_bytes() + written_bytes();
  for (const core::LoopLevel& level : levels_.levels) {
    for (const LoopValue value : level.kept) bytes += bytes_of(value);
  }
  return bytes;
}

bool RowWork::is_most_at(std::size_t depth) const { return std::ranges::max(by_depth_) == by_depth_[depth]; }

}  // namespace tyto::cpu
