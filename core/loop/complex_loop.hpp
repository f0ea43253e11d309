// SPDX-License-Identifier: MIT
// Lowers loops over complex numbers to loops over their real and imaginary parts, which every device runs instead.
#pragma once

#include "core/loop/bound_loop.hpp"

namespace tyto::core {

/// Whether an operand of the loop or a value on its way is complex.
bool is_complex(const BoundLoop& bound);

/// The same loop in real numbers. A complex operand becomes two, the real and the imaginary parts where they lie, every
/// second element each; so input_of and output_of say of which operand each one is. `has_f64`: whether the device
/// computes in f64.
BoundLoop in_parts(const BoundLoop& bound, bool has_f64);

/// Number of real instructions that element-wise `op` (or cast) expands to on elements of `dtype`: one for real types.
std::size_t instructions_of(OpId op, DType dtype);

}  // namespace tyto::core
