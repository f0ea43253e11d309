// SPDX-License-Identifier: MIT
// Operands for the samples of the operator table, drawn within each operator's range.
#pragma once

#include <algorithm>

#include "core/graph/operator.hpp"
#include "tyto/complex.hpp"
#include "tyto/tyto.hpp"

namespace tyto::sample_operands {

/// Elements within the operator's range, in both places of a pair for complex ones; positions for i64 beside others.
inline Tensor<Eager> drawn(const core::OpDef& def, const core::TensorType& operand, DType type) {
  using T = Tensor<Eager>;
  const bool position = operand.dtype == DType::i64 && type != DType::i64;
  if (position) return T::integers(operand.shape, {.low = 0, .high = 2, .dtype = DType::i64});
  if (operand.dtype == DType::boolean) return T::bernoulli(operand.shape);
  const double low = std::max(def.low, is_integer(operand.dtype) ? 0.0 : def.low);
  const double high = is_integer(operand.dtype) ? std::max(low + 1, def.high) : def.high;
  if (is_complex(operand.dtype)) {
    const DType part = real_type(operand.dtype);
    return complex(T::uniform(operand.shape, {.low = low, .high = high, .dtype = part}),
                   T::uniform(operand.shape, {.low = low, .high = high, .dtype = part}));
  }
  return T::uniform(operand.shape, {.low = low, .high = high, .dtype = DType::f64}).astype(operand.dtype);
}

}  // namespace tyto::sample_operands
