// SPDX-License-Identifier: MIT
// Dispatches from an element type known at run time to a C++ type: one call per type, chosen by a switch.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <tyto/dtype.hpp>

#include "core/value/element_types.hpp"
#include "core/value/text.hpp"

namespace tyto::cpu {

/// Calls f(std::type_identity<T>{}) with the stored type, which is not complex: kernels work on the parts of such
/// elements. A bool is read as the byte it is stored in.
template <class F>
decltype(auto) with_element(DType dtype, F&& f) {
  return core::with_element_type(dtype, [&]<class E>() -> decltype(auto) {
    using Read = std::conditional_t<std::is_same_v<E, bool>, std::uint8_t, E>;
    if constexpr (ComplexNumber<E>) {
      core::throw_error<DeviceError>("cpu: a kernel of real numbers is given complex ones");
      return f(std::type_identity<float>{});
    } else {
      return f(std::type_identity<Read>{});
    }
  });
}

/// The unit that an element of 16 bytes is moved as.
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
