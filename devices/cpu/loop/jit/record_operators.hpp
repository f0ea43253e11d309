// SPDX-License-Identifier: MIT
// Records the code of single operators.
#pragma once

#include <array>
#include <cstdint>

#include "core/graph/operator.hpp"
#include "devices/cpu/loop/jit/code.hpp"

namespace tyto::cpu::jit {

/// The recorded expression of an operator on operands of its working type.
struct RecordedOperator {
  Value value = no_value;     ///< none where there is no code of lanes
  Value in_range = no_value;  ///< a mask of the lanes that the recorded code covers; none: all of them
};

RecordedOperator record_operator(CodeBuilder& code, core::OpId op, DType working_type,
                                 const std::array<Value, 3>& operands);

}  // namespace tyto::cpu::jit
