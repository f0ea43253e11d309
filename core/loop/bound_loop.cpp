// SPDX-License-Identifier: MIT
// Types of a loop's inputs, and which of its values are whole.
#include "core/loop/bound_loop.hpp"

#include "core/loop/loop_rows.hpp"

namespace tyto::core {

std::vector<DType> BoundLoop::input_types() const {
  std::vector<DType> types;
  for (const Operand& input : inputs) types.push_back(input.dtype);
  return types;
}

std::vector<bool> BoundLoop::whole() const { return whole_values(loop, given); }

}  // namespace tyto::core
