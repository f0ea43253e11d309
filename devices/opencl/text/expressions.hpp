// SPDX-License-Identifier: MIT
// Converts the scalar expressions of the operator table to OpenCL C.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/operator.hpp"

namespace tyto::opencl {

struct Expression {
  core::Domain domain;
  int operands;
  std::string_view text;  // of x, of a and b, or of a, b and c
};

/// The operator's line of ops/elementwise.def, or null when it has none.
const Expression* expression_of(core::OpId op);

/// OpenCL C for the operator applied to values of the given types, which are held in compute form; the result is in the
/// compute form of `result`, narrowed to it when `exact` (needed unless the value only goes to memory of that type).
std::string apply(core::OpId op, DType result, const std::vector<DType>& types, const std::vector<std::string>& values,
                  bool exact);

}  // namespace tyto::opencl
