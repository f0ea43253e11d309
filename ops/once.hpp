// SPDX-License-Identifier: MIT
// One line with which the body of a public function is compiled once, for tensors of any mode.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto::core {

/// Tensors as those of mode M, alone, in lists and in the structures that functions take and return; everything else
/// is what it was.
template <class M, class T>
const T& in_mode(const T& argument) {
  return argument;
}
template <class M, class From>
Tensor<M> in_mode(const Tensor<From>& x) {
  return x.value();
}
template <class M, class From>
Tensor<M> in_mode(Tensor<From>&& x) {
  return std::move(x).value();
}
template <class M, class A, class B>
std::pair<Tensor<M>, Tensor<M>> in_mode(const std::pair<Tensor<A>, Tensor<B>>& x) {
  return {x.first.value(), x.second.value()};
}
template <class M, class T>
requires(!std::is_arithmetic_v<T>) auto in_mode(const std::vector<T>& list) {
  std::vector<std::remove_cvref_t<decltype(in_mode<M>(list.front()))>> out;
  out.reserve(list.size());
  for (const T& each : list) out.push_back(in_mode<M>(each));
  return out;
}
template <class M, template <class> class S, class From>
requires std::is_aggregate_v<S<From>> S<M> in_mode(const S<From>& parts) {
  using T = Tensor<From>;
  if constexpr (requires(T t) { S<From>{t, t, t, t}; }) {
    const auto& [a, b, c, d] = parts;
    return {a.value(), b.value(), c.value(), d.value()};
  } else if constexpr (requires(T t) { S<From>{t, t, t}; }) {
    const auto& [a, b, c] = parts;
    return {a.value(), b.value(), c.value()};
  } else {
    const auto& [a, b] = parts;
    return {a.value(), b.value()};
  }
}

/// Throws the exception in flight again. Where its message does not begin with `name`, but with that of an operator
/// that the function is made of, `name` is put before it.
[[noreturn]] void rethrow_named(std::string_view name);

/// Calls the function of this name for tensors of any mode with these arguments, and returns its result in mode M.
template <class M, class Function, class... Arguments>
auto once(std::string_view name, const Function& function, const Arguments&... arguments) {
  try {
    return in_mode<M>(function(in_mode<Any>(arguments)...));
  } catch (const Error&) {
    rethrow_named(name);
  }
}

}  // namespace tyto::core

/// The first line of a public function template whose body is worth compiling once: the functions of the two modes are
/// calls of that for tensors of any mode, which the lines below are compiled for. They must not name a mode: what is
/// computed has its operands' mode.
#define TYTO_ONCE(function, ...)                                                                               \
  if constexpr (!std::is_same_v<M, ::tyto::Any>) {                                                             \
    return ::tyto::core::once<M>(                                                                              \
        #function, [](const auto&... arguments) { return function<::tyto::Any>(arguments...); }, __VA_ARGS__); \
  }
