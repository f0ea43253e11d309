// SPDX-License-Identifier: MIT
// Chooses the types of functions that are computed in f32, and casts their operands and results.
#include "core/graph/in_f32.hpp"

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"

namespace tyto::core {

namespace {

constexpr bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }

bool is_tensor(const Value& x) { return x && !result_of(x).type.weak; }

}  // namespace

void FloatingTypes::add(const Value& tensor) {
  if (!is_tensor(tensor) || !is_inexact(tensor.dtype())) return;
  any_half_ |= is_half(tensor.dtype());
  common_ = common_ ? promote(*common_, tensor.dtype()) : tensor.dtype();
}

Value widened(const Value& x) {
  return is_tensor(x) && is_half(x.dtype()) ? emit(OpId::cast, CastAttributes{DType::f32}, {resolve(x)}) : x;
}

Value narrowed(const Value& x, DType type) {
  return x && is_half(type) && x.dtype() == DType::f32 ? emit(OpId::cast, CastAttributes{type}, {resolve(x)}) : x;
}

}  // namespace tyto::core
