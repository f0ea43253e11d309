// SPDX-License-Identifier: MIT
// From an element type known at run time to a C++ type: one call per type, chosen by a switch.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <tyto/dtype.hpp>

namespace tyto::cpu {

/// Calls f(std::type_identity<T>{}) with the stored type, which is not complex: kernels work on the parts of such
/// elements. A bool is read as the byte it is stored in.
template <class F>
decltype(auto) with_element(DType dtype, F&& f) {
  switch (dtype) {
    case DType::i8: return f(std::type_identity<std::int8_t>{});
    case DType::i16: return f(std::type_identity<std::int16_t>{});
    case DType::i32: return f(std::type_identity<std::int32_t>{});
    case DType::u16: return f(std::type_identity<std::uint16_t>{});
    case DType::u32: return f(std::type_identity<std::uint32_t>{});
    case DType::u64: return f(std::type_identity<std::uint64_t>{});
    case DType::i64: return f(std::type_identity<std::int64_t>{});
    case DType::f16: return f(std::type_identity<Half>{});
    case DType::bf16: return f(std::type_identity<BFloat16>{});
    case DType::f32: return f(std::type_identity<float>{});
    case DType::f64: return f(std::type_identity<double>{});
    case DType::c64:
    case DType::c128: throw DeviceError("cpu: a kernel of real numbers is given complex ones");
    default: return f(std::type_identity<std::uint8_t>{});
  }
}

/// What is moved for an element of 16 bytes.
struct WideElement {
  std::uint64_t halves[2] = {};
};

/// Calls f(std::type_identity<U>{}) with the unsigned integer as wide as the element: for moving elements unread.
template <class F>
decltype(auto) with_width(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1: return f(std::type_identity<std::uint8_t>{});
    case 2: return f(std::type_identity<std::uint16_t>{});
    case 4: return f(std::type_identity<std::uint32_t>{});
    case 8: return f(std::type_identity<std::uint64_t>{});
    default: return f(std::type_identity<WideElement>{});
  }
}

}  // namespace tyto::cpu
