// A program over rows: reductions of rows, what is made of them, and what reads both; and what each walk along a row
// computes of it.
#pragma once

#include <cstddef>
#include <vector>

#include "devices/opencl/element_program.hpp"

namespace tyto::opencl {

/// Reductions are instructions among others. A row is what is reduced to one element: the axes that are not among
/// `axes` count rows.
struct RowProgram {
  ElementProgram elements;  // inputs broadcast to `shape`; outputs of rows have ones for the axes
  std::vector<bool> whole;  // by value: whether it has an element for each of the shape's, not one a row
  Shape shape;
  IntList axes;
};

/// Whether the instruction reduces rows: sum, mean, prod, min or max.
bool folds(const ElementProgram::Instruction& instruction);

/// One walk along a row. What it reads was made by walks before it, or is computed again.
struct RowWalk {
  std::vector<std::size_t> row_values;  // computed before the walk, once a row
  std::vector<std::size_t> computed;    // whole values, in order: inputs are loaded, kept values read, others computed
  std::vector<std::size_t> kept;        // of these, those that later walks read
  std::vector<std::size_t> folds;       // reductions that the walk finishes
};

/// Values are kept where computing them again would cost more than two cheap operators, unless `keeps` is false.
std::vector<RowWalk> walks_of(const RowProgram& program, bool keeps);

}  // namespace tyto::opencl
