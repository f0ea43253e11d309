// SPDX-License-Identifier: MIT
// The epilogue of a product of f16 or bf16: a bias, a residual and limits in the same kernel, each rounded as an
// operator of its own would round it, so that a product gives the same bits with and without it.
#pragma once

#include <cstdint>

#include <tyto/dtype.hpp>

#include "devices/cpu/arithmetic/limits.hpp"

namespace tyto::cpu {

/// What is added to rows of a product, null for none, and the limits of the result.
struct HalfEpilogue {
  DType dtype = DType::f16;
  const void* bias = nullptr;      ///< one element a column
  const void* residual = nullptr;  ///< may be the result
  std::int64_t residual_stride = 1;
  Limits<float> limits = {};
};

/// Rounds the sums of rows that lie one behind the other, then adds and rounds again what the epilogue says, and stores
/// them, elements `stride` apart. The sums are overwritten.
void apply_half_epilogue(const HalfEpilogue& epilogue, float* sums, void* result, std::int64_t stride,
                         std::int64_t rows, std::int64_t columns) noexcept;

}  // namespace tyto::cpu
