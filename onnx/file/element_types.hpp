// SPDX-License-Identifier: MIT
// Maps element types of ONNX (TensorProto.DataType) to those of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tyto/dtype.hpp"

namespace tyto::onnx {

/// The type that elements are held in; none for complex ones, which models do not have. Integers of 4 and 2 bits are
/// held in 8, floating-point numbers of 8 bits and fewer in a type that has all of them, text as numbers that stand for
/// words.
std::optional<DType> dtype_from(std::int64_t element_type);
/// The same of a type in which numbers are computed: none for text and for floating-point numbers of 8 bits and fewer.
std::optional<DType> computed_dtype_from(std::int64_t element_type);
/// How many bits an element has where a byte of the file holds several; else 0.
int packed_bits(std::int64_t element_type);
/// Whether it says more than the type that elements are held in.
bool is_storage_type(std::int64_t element_type);
inline constexpr std::int64_t text_type = 8;
/// "float", "uint16", ... as the standard spells it; a number that is not known as "element type 99".
std::string element_type_name(std::int64_t element_type);
/// The number in TensorProto.DataType.
std::int64_t element_type_of(DType dtype);

}  // namespace tyto::onnx
