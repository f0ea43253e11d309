// SPDX-License-Identifier: MIT
// Functions of complex numbers written in instructions of a loop over their real and imaginary parts.
#pragma once

#include "core/loop/loop_builder.hpp"

namespace tyto::core {

/// A real number or truth that the program computes.
struct LoopNumber {
  LoopBuilder* builder = nullptr;
  LoopValue value = 0;
};

struct LoopComplex {
  LoopNumber real, imaginary;
};

/// The result of operator `op` on complex operands, which its traits allow. `wide`: powers of c64 may be computed in
/// f64.
LoopComplex complex_result(OpId op, std::span<const LoopComplex> operands, bool wide);

/// The same for operators whose results are real or truths: abs and the comparisons.
LoopNumber real_result(OpId op, std::span<const LoopComplex> operands);

}  // namespace tyto::core
