// Element types of ONNX (TensorProto.DataType) and what they are here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tyto/dtype.hpp"

namespace tyto::onnx {

/// None for those that Tyto does not have: complex ones, text, and floating-point numbers of 8 bits and fewer. Integers
/// of 4 and 2 bits are held in 8.
std::optional<DType> dtype_from(std::int64_t element_type);
/// How many bits an element has where a byte of the file holds several; else 0.
int packed_bits(std::int64_t element_type);
/// "float", "uint16", ... as the standard spells it; a number that is not known as "element type 99".
std::string element_type_name(std::int64_t element_type);
/// The number in TensorProto.DataType.
std::int64_t element_type_of(DType dtype);

}  // namespace tyto::onnx
