// SPDX-License-Identifier: MIT
// Semantics of loops with reductions: which values are whole and which have one element a row.
#pragma once

#include <span>
#include <vector>

#include "core/graph/attributes.hpp"
#include "core/graph/operator.hpp"

namespace tyto::core {

/// A reduction that may be an instruction of a group.
bool may_fold(OpId op);

/// Whether the value is made by one.
bool is_reduction(const LoopProgram& program, std::size_t value);
bool has_reductions(const LoopProgram& program);

/// The attributes of such an instruction on its own, the axes kept as ones.
Attributes fold_attributes(OpId op, const IntList& axes);

/// How many elements a reduction over these axes takes together.
std::int64_t row_length(const Shape& shape, const IntList& axes);

/// The last instruction is the only reduction and the only result, which lets its operand be any element-wise
/// function.
bool ends_in_its_only_reduction(const LoopProgram& program);

/// By value: whether it has an element for each element of the group's shape. Reductions have not, nor has what is made
/// of them and of inputs that do not vary along the axes. Without axes all values are whole.
std::vector<bool> whole_values(const LoopAttributes& group, std::span<const Shape> inputs);

}  // namespace tyto::core
