// SPDX-License-Identifier: MIT
// Computes functions made of several operators in f32 where operands are f16 or bf16, and rounds once, at the end.
#pragma once

#include <concepts>
#include <optional>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto::core {

/// Calls `f` with each tensor of an argument: itself, those of a list, and the weights that options hold.
template <class T, class F>
void visit_tensors(T& argument, const F& f) {
  if constexpr (std::convertible_to<T&, Value>) {
    f(argument);
  } else if constexpr (requires { requires std::convertible_to<typename T::value_type, Value>; }) {
    for (auto& each : argument) f(each);
  } else {
    if constexpr (requires { argument.weights.dtype(); }) f(argument.weights);
    if constexpr (requires { argument.positive_weights.dtype(); }) f(argument.positive_weights);
  }
}

template <class T, class F>
T with_tensors(T argument, const F& f) {
  visit_tensors(argument, [&]<class Each>(Each& tensor) { tensor = Each(f(tensor)); });
  return argument;
}

/// The floating types among tensors. Numbers and undefined tensors have none.
class FloatingTypes {
 public:
  void add(const Value& tensor);
  bool any_half() const { return any_half_; }
  /// The type in which they meet.
  DType common() const { return *common_; }

 private:
  bool any_half_ = false;
  std::optional<DType> common_;
};

/// A tensor of half precision as f32; anything else is what it was.
Value widened(const Value& x);
/// f32 rounded to a type of half precision; anything else is what it was.
Value narrowed(const Value& x, DType type);

/// Calls `function` with f32 in place of f16 and bf16 and rounds its result to the type to which the floating-point
/// arguments promote. Returns nothing where no argument is of half precision: the caller then continues as it is.
///
///     if (const auto found = core::in_f32(&average<M>, x, weights, axes, keepdims)) return *found;
template <class Function, class... Arguments>
auto in_f32(const Function& function, const Arguments&... arguments) {
  using Returned = std::remove_cvref_t<decltype(function(arguments...))>;
  FloatingTypes types;
  (visit_tensors(arguments, [&](const Value& tensor) { types.add(tensor); }), ...);
  if (!types.any_half()) return std::optional<Returned>();
  const Returned found = function(with_tensors(arguments, widened)...);
  return std::optional<Returned>(with_tensors(found, [&](const Value& x) { return narrowed(x, types.common()); }));
}

}  // namespace tyto::core
