// SPDX-License-Identifier: MIT
// Splits a loop with reductions into levels: a traversal of each row for each number of reductions before it. One plan
// for every device; each device chooses where it stores the values in between.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/attributes.hpp"

namespace tyto::core {

/// One traversal of each row. What it reads was made by levels before it, or is computed again.
struct LoopLevel {
  std::vector<LoopValue> row_values;  // one element a row, computed before the traversal
  std::vector<LoopValue> kept;        // whole values that later levels read
  std::vector<LoopValue> folds;       // reductions that it finishes
};

struct LoopLevels {
  std::vector<LoopLevel> levels;
  std::vector<std::size_t> depth;        // by value: reductions on the way to it, which is the level that makes it
  std::vector<std::size_t> last_reader;  // by value: the last level that reads it
};

/// Whole values are kept where computing them again would cost more than two cheap operators, unless `keeps` is false.
/// `whole` is what whole_values gives.
LoopLevels plan_levels(const LoopProgram& program, const std::vector<bool>& whole, bool keeps = true);

/// A part of a program that computes some of its values from others that are available.
struct LoopPart {
  std::vector<LoopValue> inputs;  // values of the whole program, which are the part's inputs
  LoopProgram program;            // its results are the values asked for
};
LoopPart part_of(const LoopProgram& program, std::span<const LoopValue> wanted, const std::vector<bool>& at_hand);

}  // namespace tyto::core
