// SPDX-License-Identifier: MIT
// Quantises numbers to small integers with a scale and a zero point, and back.
#pragma once

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

/// round(x / scale) + zero_point, limited to what the type holds, or `bits` bits of it; ties go to even. Scale and zero
/// point broadcast.
Array quantised(const Array& x, const Array& scale, const Array& zero_point, DType dtype, int bits = 0);
/// (x - zero_point) * scale. The zero point may be an undefined tensor.
Array dequantised(const Array& x, const Array& scale, const Array& zero_point);
/// A scale or zero point as x can be combined with: one number, one for each index along `axis`, or one for each block
/// of `block` of them (0: no blocks).
Array along_axis(const Array& numbers, const Array& x, std::int64_t axis, std::int64_t block = 0);
/// The matrix product of integers of 8 bits less their zero points (undefined tensors, one number, or one for each row
/// of a and column of b), in i32, which wraps round; of other types in f32 where that holds every sum.
Array integer_product(const Array& a, const Array& b, const Array& a_zero, const Array& b_zero);

/// Input i of a product whose left operand is input 0. Weights that are known are recorded as they are: what is
/// computed of them beforehand would be of 32 bits.
Array byte_weights(const OperatorCall& call, std::size_t i);

/// The convolution of a node whose operands stand for bytes, u8 or i8 by i8 without a zero point: that of the bytes in
/// f32, times their scales, and the bias. Undefined where they do not.
Array dequantised_convolution(const OperatorCall& call);

/// Numbers as bytes, by their own range.
struct QuantisedByRange {
  Array bytes;
  Array scale;
  Array zero_point;
};
/// Scale and zero point follow from the smallest and largest element, zero included.
QuantisedByRange quantised_by_range(const Array& x);
/// The numbers that these bytes stand for.
Array rounded_by_range(const Array& x);

}  // namespace tyto::onnx
