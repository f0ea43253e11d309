// SPDX-License-Identifier: MIT
// Loops over the conversions of f16 and bf16, which have no branches, so that they vectorise.
#include "devices/cpu/arithmetic/half_precision.hpp"

#include "core/value/half_bits.hpp"

namespace tyto::cpu {

namespace {

template <class Convert, class From, class To>
void convert(const From* from, std::int64_t from_stride, To* to, std::int64_t to_stride, std::int64_t count,
             Convert one) noexcept {
  if (from_stride == 1 && to_stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = one(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = one(from[i * from_stride]);
  }
}

}  // namespace

void widen(DType from_type, const void* from, std::int64_t stride, float* to, std::int64_t count) noexcept {
  const auto* halves = static_cast<const std::uint16_t*>(from);
  if (from_type == DType::f16) {
    convert(halves, stride, to, 1, count, [](std::uint16_t bits) { return core::widen_half(bits); });
  } else {
    convert(halves, stride, to, 1, count, [](std::uint16_t bits) { return core::widen_bfloat(bits); });
  }
}

void narrow(const float* from, DType to_type, void* to, std::int64_t stride, std::int64_t count) noexcept {
  auto* halves = static_cast<std::uint16_t*>(to);
  if (to_type == DType::f16) {
    convert(from, 1, halves, stride, count, [](float value) { return core::narrow_to_half(value); });
  } else {
    convert(from, 1, halves, stride, count, [](float value) { return core::narrow_to_bfloat(value); });
  }
}

}  // namespace tyto::cpu
