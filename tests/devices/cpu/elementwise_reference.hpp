// SPDX-License-Identifier: MIT
// Reference values of every element-wise operator on one element, by long double libm and 128-bit integers.
#pragma once

#include "core/graph/operator.hpp"

namespace tyto::cpu::testing {

/// On floating-point types; comparisons give 0 or 1. Operands that the operator does not have are ignored.
long double reference(core::OpId op, long double a, long double b, long double c);

/// On integers of so many bits, wrapped around to them; bool (1 bit) as the engine defines it.
long double integer_reference(core::OpId op, long double a, long double b, long double c, DType type);

/// Units in the last place that results may be off on f32 and f64; 0.5 for what IEEE 754 rounds correctly.
double allowed_ulps(core::OpId op);

}  // namespace tyto::cpu::testing
