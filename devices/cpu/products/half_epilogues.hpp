// SPDX-License-Identifier: MIT
// The epilogue of a product of f16 or bf16: a bias, a residual and limits in the same kernel, each rounded as an
// operator of its own would round it, so that a product gives the same bits with and without it.
#pragma once

#include <cstdint>

#include <tyto/dtype.hpp>

#include "devices/cpu/arithmetic/limits.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

/// What is added to rows of a product, null for none, and the limits of the result.
struct HalfEpilogue {
  DType dtype = DType::f16;
  const void* bias = nullptr;      ///< one element a column
  const void* residual = nullptr;  ///< lies as the result does, which it may be
  Limits<float> limits = {};
};

/// Rounds the sums of rows that lie one behind the other, then adds and rounds again what the epilogue says, and stores
/// them, elements `stride` apart.
void apply_half_epilogue(const HalfEpilogue& epilogue, const float* sums, void* result, std::int64_t stride,
                         std::int64_t rows, std::int64_t columns) noexcept;

/// The same for neighbouring elements of one row, by instruction set; bias and residual may be null.
struct HalfEpilogueLoops {
  using EndRow = void (*)(const float* sums, const std::uint16_t* bias, const std::uint16_t* residual,
                          const Limits<float>& limits, std::uint16_t* to, std::int64_t count);
  EndRow f16 = nullptr, bf16 = nullptr;
};

HalfEpilogueLoops half_epilogue_loops(InstructionSet set) noexcept;

TYTO_IN_EACH_SET(HalfEpilogueLoops half_epilogue_loops() noexcept;)

}  // namespace tyto::cpu
