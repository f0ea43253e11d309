// SPDX-License-Identifier: MIT
// Computes limits of element types from the widths of their mantissas and exponents.
#include "tyto/type_info.hpp"

#include "core/value/floating_format.hpp"
#include "ops/define.hpp"

namespace tyto TYTO_API {

namespace {

int bits_of(DType dtype) { return static_cast<int>(size_of(dtype)) * 8; }

}  // namespace

FloatInfo finfo(DType dtype) {
  const DType part = real_type(dtype);
  if (!is_floating(part)) core::throw_error<TypeError>("finfo: a floating or complex type is needed, not ", dtype);
  const core::FloatingFormat format = core::format_of(part);
  return {dtype, bits_of(dtype), format.epsilon(), format.largest(), -format.largest(), format.smallest_normal()};
}

IntegerInfo iinfo(DType dtype) {
  if (!is_integer(dtype)) core::throw_error<TypeError>("iinfo: an integer type is needed, not ", dtype);
  const int bits = bits_of(dtype);
  if (is_unsigned(dtype)) return {dtype, bits, UINT64_MAX >> (64 - bits), 0};
  return {dtype, bits, static_cast<std::uint64_t>(INT64_MAX >> (64 - bits)), INT64_MIN >> (64 - bits)};
}

bool can_cast(DType from, DType to) {
  if (from == to || from == DType::boolean) return true;
  if (to == DType::boolean || (is_complex(from) && !is_complex(to)) || (is_inexact(from) && !is_inexact(to))) {
    return false;
  }
  if (is_integer(from)) {
    const IntegerInfo range = iinfo(from);
    if (!is_integer(to)) {
      const DType parts = real_type(to);
      return parts == DType::f64 || bits_of(from) - (range.min < 0 ? 1 : 0) <= core::format_of(parts).digits;
    }
    return range.max <= iinfo(to).max && range.min >= iinfo(to).min;
  }
  const DType source = real_type(from), target = real_type(to);
  return source == target || promote(source, target) == target;
}

template <class M>
DType result_type(const std::vector<Tensor<M>>& operands) {
  if (operands.empty()) throw ValueError("result_type: at least one operand is needed");
  std::vector<Value> values;
  for (const Tensor<M>& operand : operands) values.push_back(core::given("result_type", operand));
  return core::common_type(values);
}

template DType result_type(const std::vector<Tensor<Eager>>&);
template DType result_type(const std::vector<Tensor<Lazy>>&);
template DType result_type(const std::vector<Tensor<Any>>&);

}  // namespace TYTO_API
