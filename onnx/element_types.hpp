// Element types of ONNX (TensorProto.DataType) and what they are here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tyto/dtype.hpp"

namespace tyto::onnx {

/// None for those that Tyto does not have: complex ones, text, and those of 8 bits
/// and fewer that are no integers of 8 bits.
std::optional<DType> dtype_from(std::int64_t element_type);
/// "float", "uint16", ... as the standard spells it; a number that is not known as "element type 99".
std::string element_type_name(std::int64_t element_type);
/// The number in TensorProto.DataType.
std::int64_t element_type_of(DType dtype);

}  // namespace tyto::onnx
