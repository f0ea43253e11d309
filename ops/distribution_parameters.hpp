// SPDX-License-Identifier: MIT
// Checks the parameters of distributions: throws where they are known, and makes NaN of draws where they are not.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/device/device.hpp"
#include "core/graph/released_versions.hpp"
#include "core/value/limits.hpp"
#include "ops/define.hpp"
#include "ops/holds_now.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

/// Whether elements can be read without computing anything: numbers, and what eager mode computed.
inline bool is_seen(const Value& value) {
  return scalar_operand(value) != nullptr || (value.node()->mode() != Mode::lazy && value.node()->evaluated());
}

template <class T>
T within(const T& x, const Limits& allowed) {
  T inside = allowed.with_low() ? x >= allowed.low : x > allowed.low;
  if (allowed.high < infinite || !allowed.with_high()) {
    inside = inside && (allowed.with_high() ? x <= allowed.high : x < allowed.high);
  }
  return allowed.whole ? inside && equal(x, floor(x)) : inside;
}

/// An element that is not allowed, if there is one. Made without a graph where the elements can be read as they lie.
inline std::optional<double> outside(const Value& seen, const Limits& allowed) {
  if (const Scalar* number = scalar_operand(seen)) {
    const double x = number->as_double();
    return outside(std::span<const double>(&x, 1), allowed);
  }
  const Array array = contents_of(seen);
  if (array.buffer->device()->properties().host_memory && is_dense(array.view)) {
    const auto elements = [&]<class E>(const E* memory) {
      return std::span(memory + array.view.offset, static_cast<std::size_t>(element_count(array.view.shape)));
    };
    const void* memory = array.buffer->memory();
    if (array.dtype == DType::f32) return outside(elements(static_cast<const float*>(memory)), allowed);
    if (array.dtype == DType::f64) return outside(elements(static_cast<const double*>(memory)), allowed);
  }
  const Tensor<Any> x = seen, wide = x.dtype() == DType::f64 ? copy(x) : x.astype(DType::f64);
  return outside(wide.data<double>(), allowed);
}

/// The parameter itself, unless it is known: then ValueError where an element is not allowed. Otherwise NaN
/// takes the place of such elements.
template <class T>
T checked(std::string_view distribution, std::string_view name, const T& parameter, const Limits& allowed) {
  require("sample", parameter);
  const Value given = resolve(parameter);
  if (!is_seen(given)) {
    const T x = is_floating(given.dtype()) ? T(given) : T(cast_to(given, DType::f32));
    return where(within<T>(x, allowed), x, std::numeric_limits<double>::quiet_NaN());
  }
  if (const std::optional<double> found = outside(given, allowed)) {
    throw_error<ValueError>("sample: ", distribution, " needs ", name, " ", allowed.text, ", not ", *found);
  }
  return parameter;
}

/// Counts as i64: -1 where they were drawn of parameters that `checked` marked.
template <class T>
T marked(std::initializer_list<T> parameters, const T& counts) {
  T found = counts;
  for (const T& parameter : parameters) {
    if (!is_seen(parameter)) found = where(isnan(parameter), -1.0, found);
  }
  return found.astype(DType::i64);
}

}  // namespace tyto::core

// The parameter that a distribution draws with, as it is or in f64; what is written here is what a message names.
#define TYTO_CHECKED(Name, parameter, allowed) core::checked<T>(#Name, #parameter, T(parameter), core::limits::allowed)
#define TYTO_CHECKED_WIDE(Name, parameter, allowed) \
  core::checked<T>(#Name, #parameter, T(parameter).astype(DType::f64), core::limits::allowed)
