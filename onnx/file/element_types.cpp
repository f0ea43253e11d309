// SPDX-License-Identifier: MIT
// The table of element types.
#include "onnx/file/element_types.hpp"

#include "onnx/file/message.hpp"
#include "onnx/file/small_floats.hpp"

namespace tyto::onnx {

namespace {

struct Row {
  const char* name;
  std::optional<DType> dtype;
  int packed_bits = 0;
};

// In the order of TensorProto.DataType, from 0 on.
const Row element_types[] = {
    {"undefined", {}},
    {"float", DType::f32},
    {"uint8", DType::u8},
    {"int8", DType::i8},
    {"uint16", DType::u16},
    {"int16", DType::i16},
    {"int32", DType::i32},
    {"int64", DType::i64},
    {"string", DType::i64},
    {"bool", DType::boolean},
    {"float16", DType::f16},
    {"double", DType::f64},
    {"uint32", DType::u32},
    {"uint64", DType::u64},
    {"complex64", {}},
    {"complex128", {}},
    {"bfloat16", DType::bf16},
    {"float8e4m3fn", DType::f16},
    {"float8e4m3fnuz", DType::f16},
    {"float8e5m2", DType::f16},
    {"float8e5m2fnuz", DType::f16},
    {"uint4", DType::u8, 4},
    {"int4", DType::i8, 4},
    {"float4e2m1", DType::f16, 4},
    {"float8e8m0", DType::f32},
    {"uint2", DType::u8, 2},
    {"int2", DType::i8, 2},
};

bool listed(std::int64_t element_type) {
  return element_type >= 0 && element_type < static_cast<std::int64_t>(std::size(element_types));
}

}  // namespace

std::optional<DType> dtype_from(std::int64_t element_type) {
  return listed(element_type) ? element_types[element_type].dtype : std::nullopt;
}

std::optional<DType> computed_dtype_from(std::int64_t element_type) {
  if (element_type == text_type || small_float(element_type) != nullptr) return std::nullopt;
  return dtype_from(element_type);
}

bool is_storage_type(std::int64_t element_type) {
  return element_type == text_type || packed_bits(element_type) != 0 || small_float(element_type) != nullptr;
}

int packed_bits(std::int64_t element_type) {
  return listed(element_type) ? element_types[element_type].packed_bits : 0;
}

std::string element_type_name(std::int64_t element_type) {
  return listed(element_type) ? element_types[element_type].name : core::text("element type ", element_type);
}

std::int64_t element_type_of(DType dtype) {
  std::int64_t number = 1;
  while (element_types[number].dtype != dtype) ++number;
  return number;
}

}  // namespace tyto::onnx
