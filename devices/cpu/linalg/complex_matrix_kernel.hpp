// SPDX-License-Identifier: MIT
// Kernels of complex matrices: split interleaved elements into real and imaginary parts, and join them again.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "devices/cpu/linalg/complex_parts.hpp"
#include "devices/cpu/linalg/matrix_kernel.hpp"

namespace tyto::cpu::linalg {

template <class T>
void read_parts(const Stack& stack, const core::Address& address, Index index, const Parts<T>& to) noexcept {
  const T* from =
      reinterpret_cast<const T*>(address.pointer()) + 2 * (stack.offset + index * stack.rows * stack.columns);
  for (Index row = 0; row < stack.rows; ++row) {
    for (Index column = 0; column < stack.columns; ++column, from += 2) set(to, row, column, {from[0], from[1]});
  }
}

/// Writes matrix `index` of a result without gaps.
template <class T>
void write_parts(const Parts<T>& from, const core::Address& address, Index index, bool conjugated = false) noexcept {
  const Index rows = from.re.rows, columns = from.re.columns;
  T* to = reinterpret_cast<T*>(address.pointer()) + 2 * index * rows * columns;
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column, to += 2) {
      to[0] = from.re(row, column);
      to[1] = conjugated ? -from.im(row, column) : from.im(row, column);
    }
  }
}

/// The exponent of the largest element, by which all are brought near one, so that squares neither overflow nor vanish;
/// nothing where an element is not finite.
template <class T>
std::optional<int> exponent_of(const Parts<T>& a) {
  T largest = 0;
  for (std::int64_t i = 0; i < a.re.rows * a.re.columns; ++i) {
    const T re = std::abs(a.re.first[i]), im = std::abs(a.im.first[i]);
    if (!std::isfinite(re) || !std::isfinite(im)) return {};
    largest = std::max({largest, re, im});
  }
  return largest == 0 ? 0 : std::ilogb(largest);
}

template <class T>
void scale_by(const Parts<T>& a, int exponent) noexcept {
  if (exponent == 0) return;
  const Index count = a.re.rows * a.re.columns;
  const T factor = std::ldexp(T(1), exponent);
  const bool is_one_factor = std::isnormal(factor);
  for (T* const part : {a.re.first, a.im.first}) {
    for (Index i = 0; i < count; ++i) part[i] = is_one_factor ? part[i] * factor : std::ldexp(part[i], exponent);
  }
}

/// Calls f(std::type_identity<T>{}) with the type of the first operand's parts.
template <class F>
KernelRef with_parts(const core::Step& step, const F& f) {
  if (step.inputs[0].dtype == DType::c128) return f(std::type_identity<double>{});
  return f(std::type_identity<float>{});
}

}  // namespace tyto::cpu::linalg
