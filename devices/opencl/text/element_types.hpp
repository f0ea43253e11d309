// SPDX-License-Identifier: MIT
// Storage, compute type and conversions of each element type in OpenCL C.
#pragma once

#include <string>
#include <string_view>

#include "tyto/dtype.hpp"

namespace tyto::opencl {

/// The types that arithmetic is done in.
enum class Compute : std::uint8_t { i32, i64, u64, f32, f64 };

Compute compute_of(DType type);
/// The element type that elements of `type` are computed as.
DType computed_as(DType type);

/// "int", "long", "ulong", "float", "double".
const char* type_name(Compute type);
/// "i32", "i64", "u64", "f32", "f64": ends the names of the functions on that type.
const char* suffix(Compute type);
constexpr bool is_floating(Compute type) { return type >= Compute::f32; }
/// Of 64 bits.
constexpr bool is_wide(Compute type) { return type != Compute::i32 && type != Compute::f32; }

/// The type of an element in memory: "uchar" for bool, "ushort" for f16 and bf16, "float2" for c64.
const char* storage_name(DType type);

/// Reads element `index` of `pointer` as the compute type.
std::string load(DType type, std::string_view pointer, std::string_view index);
/// A statement that writes `value`, of the compute type.
std::string store(DType type, std::string_view pointer, std::string_view index, std::string_view value);
/// `value`, of the compute type, as it would be after having been stored as `type` and read again.
std::string narrow(DType type, std::string_view value);
/// `value`, of the compute type of `from`, converted to the compute type of `to`, and narrowed.
std::string convert(DType from, DType to, std::string_view value);

}  // namespace tyto::opencl
