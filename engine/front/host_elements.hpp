// SPDX-License-Identifier: MIT
// Reads elements of eager tensors on the host, for functions that no operator computes.
#pragma once

#include <cmath>
#include <span>
#include <string_view>

#include "core/graph/builder.hpp"
#include "core/value/element_types.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "ops/define.hpp"

namespace tyto::run::host {

/// Dense contents on the host.
inline core::Array host_contents(std::string_view function, const Value& x) {
  if (core::mode_like(core::given(function, x)) == core::Mode::lazy) {
    core::throw_error<GraphError>(function, ": the shape depends on the data, so it works in eager mode only");
  }
  return run::contiguous(run::to_device(run::contents(x), run::cpu_device()));
}

inline std::byte* memory_of(const core::Array& array) {
  return static_cast<std::byte*>(array.buffer->memory()) +
         static_cast<std::size_t>(array.view.offset) * size_of(array.dtype);
}

template <class E>
std::span<const E> elements_of(const core::Array& array) {
  return {reinterpret_cast<const E*>(memory_of(array)), static_cast<std::size_t>(array.view.count())};
}

/// Calls f<E>() with the C++ type of the elements.
template <class F>
auto with_elements(std::string_view function, DType dtype, const F& f) {
  return core::with_element_type(dtype, [&]<class E>() {
    if constexpr (std::is_same_v<E, bool>) {
      return f.template operator()<std::uint8_t>();
    } else if constexpr (!ComplexNumber<E>) {
      return f.template operator()<E>();
    } else {
      core::throw_error<TypeError>(function, ": elements of type ", dtype, " have no order");
      return f.template operator()<float>();
    }
  });
}

/// A number that compares as the element does.
template <class E>
auto number(E element) {
  if constexpr (std::is_arithmetic_v<E>) {
    return element;
  } else {
    return static_cast<float>(element);
  }
}

template <class E>
bool is_nan(E element) {
  if constexpr (std::is_integral_v<E>) {
    return false;
  } else {
    return std::isnan(number(element));
  }
}

/// The same NaN or the same number.
template <class E>
bool same(E a, E b) {
  return number(a) == number(b) || (is_nan(a) && is_nan(b));
}

/// A tensor of elements that were computed on the host, on the device that eager mode computes on.
inline Value made_on_host(const core::Array& array) {
  return core::constant(core::Mode::eager, run::to_device(array, run::current_device()));
}

}  // namespace tyto::run::host
