// SPDX-License-Identifier: MIT
// Dispatches from an element type known at run time to the C++ type of such elements.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "tyto/dtype.hpp"

namespace tyto::core {

/// Calls f<E>() with the C++ type of elements. A truth is a bool, though its byte in memory may hold more.
template <class F>
decltype(auto) with_element_type(DType type, const F& f) {
  switch (type) {
    case DType::boolean: return f.template operator()<bool>();
    case DType::u8: return f.template operator()<std::uint8_t>();
    case DType::i8: return f.template operator()<std::int8_t>();
    case DType::u16: return f.template operator()<std::uint16_t>();
    case DType::i16: return f.template operator()<std::int16_t>();
    case DType::u32: return f.template operator()<std::uint32_t>();
    case DType::i32: return f.template operator()<std::int32_t>();
    case DType::u64: return f.template operator()<std::uint64_t>();
    case DType::i64: return f.template operator()<std::int64_t>();
    case DType::f16: return f.template operator()<Half>();
    case DType::bf16: return f.template operator()<BFloat16>();
    case DType::f32: return f.template operator()<float>();
    case DType::c64: return f.template operator()<std::complex<float>>();
    case DType::c128: return f.template operator()<std::complex<double>>();
    case DType::f64: break;
  }
  return f.template operator()<double>();
}

/// A number as an element, by way of f32 where elements have 16 bits.
template <class E, class N>
E element_from(N number) {
  if constexpr (std::is_same_v<E, bool>) return number != 0;
  else if constexpr (std::is_same_v<E, Half> || std::is_same_v<E, BFloat16>) return E(static_cast<float>(number));
  else if constexpr (ComplexNumber<E>) return E(static_cast<typename E::value_type>(number));
  else return static_cast<E>(number);
}

/// An element as a number; the real part of a complex one.
template <class N, class E>
N number_from(E element) {
  if constexpr (std::is_same_v<E, Half> || std::is_same_v<E, BFloat16>)
    return number_from<N>(static_cast<float>(element));
  else if constexpr (ComplexNumber<E>) return static_cast<N>(element.real());
  else return static_cast<N>(element);
}

}  // namespace tyto::core
