// SPDX-License-Identifier: MIT
// Limits of element types, casts between types that lose nothing, and the type in which types meet.
#pragma once

#include <cstdint>
#include <vector>

#include "tyto/dtype.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Limits of a floating type; of a complex one those of its parts.
struct FloatInfo {
  DType dtype;             ///< element type
  int bits;                ///< of an element
  double eps;              ///< the distance from 1 to the next larger number
  double max, min;         ///< the largest and the least finite number
  double smallest_normal;  ///< the smallest positive number with all its digits
};
/// Throws TypeError for types whose numbers are not rounded.
FloatInfo finfo(DType dtype);

/// Limits of an integer type.
struct IntegerInfo {
  DType dtype;        ///< element type
  int bits;           ///< of one element
  std::uint64_t max;  ///< largest value
  std::int64_t min;   ///< smallest value
};
/// Throws TypeError for types of other numbers.
IntegerInfo iinfo(DType dtype);

/// Whether elements of `to` hold every number of `from`, NumPy's "safe" cast; f64 counts as holding 64-bit integers.
bool can_cast(DType from, DType to);

/// The type of arithmetic with all of these, tensors and numbers: `result_type(x, 1.5)`.
template <class M>
DType result_type(const std::vector<Tensor<M>>& operands);
template <class M, class... Rest>
DType result_type(const Tensor<M>& first, const Rest&... rest) {
  return result_type(std::vector<Tensor<M>>{first, Tensor<M>(rest)...});
}

}  // namespace TYTO_API
