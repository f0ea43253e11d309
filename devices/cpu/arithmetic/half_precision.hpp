// SPDX-License-Identifier: MIT
// Converts arrays of f16 and bf16 to f32 and back, for kernels that compute in f32.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tyto/dtype.hpp>

namespace tyto::cpu {

constexpr bool is_half(DType type) noexcept { return type == DType::f16 || type == DType::bf16; }

/// to[i] = f32 of from[i * stride]; exact. `from` holds f16 or bf16.
void widen(DType from_type, const void* from, std::int64_t stride, float* to, std::int64_t count) noexcept;

/// to[i * stride] = from[i], rounded to nearest even; NaN stays NaN, too large becomes infinite.
void narrow(const float* from, DType to_type, void* to, std::int64_t stride, std::int64_t count) noexcept;

}  // namespace tyto::cpu
