// SPDX-License-Identifier: MIT
// Writes loads, stores and conversions.
#include "devices/opencl/text/element_types.hpp"

#include "core/value/text.hpp"

namespace tyto::opencl {

using core::text;

Compute compute_of(DType type) {
  switch (type) {
    case DType::u32:
    case DType::i64: return Compute::i64;
    case DType::u64: return Compute::u64;
    case DType::f16:
    case DType::bf16:
    case DType::f32: return Compute::f32;
    case DType::f64: return Compute::f64;
    default: return Compute::i32;
  }
}

DType computed_as(DType type) {
  constexpr DType types[] = {DType::i32, DType::i64, DType::u64, DType::f32, DType::f64};
  return types[static_cast<int>(compute_of(type))];
}

const char* type_name(Compute type) {
  constexpr const char* names[] = {"int", "long", "ulong", "float", "double"};
  return names[static_cast<int>(type)];
}

const char* suffix(Compute type) {
  constexpr const char* names[] = {"i32", "i64", "u64", "f32", "f64"};
  return names[static_cast<int>(type)];
}

const char* storage_name(DType type) {
  constexpr const char* names[dtype_count] = {"uchar",  "uchar",   "char",   "short", "int",
                                              "long",   "ushort",  "ushort", "float", "double",
                                              "float2", "double2", "ushort", "uint",  "ulong"};
  return names[static_cast<int>(type)];
}

std::string load(DType type, std::string_view pointer, std::string_view index) {
  if (type == DType::f16) return text("vload_half(", index, ", (const global half*)", pointer, ")");
  if (type == DType::bf16) return text("as_float((uint)", pointer, "[", index, "] << 16)");
  if (size_of(type) < 4) return text("(int)", pointer, "[", index, "]");
  if (type == DType::u32) return text("(long)", pointer, "[", index, "]");
  return text(pointer, "[", index, "]");
}

std::string store(DType type, std::string_view pointer, std::string_view index, std::string_view value) {
  if (type == DType::f16) return text("vstore_half_rte(", value, ", ", index, ", (global half*)", pointer, ");");
  if (type == DType::bf16) return text(pointer, "[", index, "] = bf16_bits(", value, ");");
  if (size_of(type) < 4 || type == DType::u32)
    return text(pointer, "[", index, "] = (", storage_name(type), ")", value, ";");
  return text(pointer, "[", index, "] = ", value, ";");
}

std::string narrow(DType type, std::string_view value) {
  switch (type) {
    case DType::boolean: return text("(int)((", value, ") != 0)");
    case DType::u32: return text("(long)(uint)(", value, ")");
    case DType::u8:
    case DType::u16:
    case DType::i8:
    case DType::i16: return text("(int)(", storage_name(type), ")(", value, ")");
    case DType::f16: return text("round_f16(", value, ")");
    case DType::bf16: return text("round_bf16(", value, ")");
    default: return std::string(value);
  }
}

std::string convert(DType from, DType to, std::string_view value) {
  const Compute source = compute_of(from);
  const Compute target = compute_of(to);
  if (from == to) return std::string(value);
  if (to == DType::boolean) return narrow(to, value);
  if (is_floating(source) && !is_floating(target)) {
    return text("to_", name_of(to), "_", suffix(source), "(", value, ")");
  }
  if (source == Compute::f64 && (to == DType::f16 || to == DType::bf16)) {
    return narrow(to, text("to_odd_f32(", value, ")"));
  }
  const std::string converted = source == target ? std::string(value) : text("(", type_name(target), ")(", value, ")");
  return narrow(to, converted);
}

}  // namespace tyto::opencl
