// SPDX-License-Identifier: MIT
// Arguments and results of compiled functions: tensors, numbers, and lists, tuples and pairs of them, flattened.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

namespace detail {

// Results of a compiled function: one tensor, or a tuple, pair or vector of them, of which a tuple or pair may hold
// more.
template <class... T>
void flatten(const std::tuple<T...>& results, std::vector<Value>& out);
template <class A, class B>
void flatten(const std::pair<A, B>& results, std::vector<Value>& out);
template <class... T>
void restore(std::tuple<T...>& results, Value*& next);
template <class A, class B>
void restore(std::pair<A, B>& results, Value*& next);

template <class M>
void flatten(const Tensor<M>& result, std::vector<Value>& out) {
  out.push_back(result);
}
template <class M>
void flatten(const std::vector<Tensor<M>>& results, std::vector<Value>& out) {
  for (const Tensor<M>& result : results) out.push_back(result);
}
template <class... T>
void flatten(const std::tuple<T...>& results, std::vector<Value>& out) {
  std::apply([&](const T&... each) { (flatten(each, out), ...); }, results);
}
template <class A, class B>
void flatten(const std::pair<A, B>& results, std::vector<Value>& out) {
  flatten(results.first, out);
  flatten(results.second, out);
}
template <class M>
void restore(Tensor<M>& result, Value*& next) {
  result = Tensor<M>(std::move(*next++));
}
template <class M>
void restore(std::vector<Tensor<M>>& results, Value*& next) {
  for (Tensor<M>& result : results) result = Tensor<M>(std::move(*next++));
}
template <class... T>
void restore(std::tuple<T...>& results, Value*& next) {
  std::apply([&](T&... each) { (restore(each, next), ...); }, results);
}
template <class A, class B>
void restore(std::pair<A, B>& results, Value*& next) {
  restore(results.first, next);
  restore(results.second, next);
}

// Whether a function without arguments works in lazy mode: its result says so.
template <class T>
inline constexpr bool gives_lazy = false;
template <>
inline constexpr bool gives_lazy<Tensor<Lazy>> = true;
template <class T>
inline constexpr bool gives_lazy<std::vector<T>> = gives_lazy<T>;
template <class... T>
inline constexpr bool gives_lazy<std::tuple<T...>> = (gives_lazy<T> || ...);
template <class A, class B>
inline constexpr bool gives_lazy<std::pair<A, B>> = gives_lazy<A> || gives_lazy<B>;

// Arguments of a compiled function: tensors, lists of tensors, numbers, which become scalars of the tensors' mode, and
// tuples and pairs of arguments.
enum class ArgumentKind : std::uint8_t { none, number, lazy, other };

template <class M>
constexpr ArgumentKind kind_of_mode() {
  return std::is_same_v<M, Lazy> ? ArgumentKind::lazy : ArgumentKind::other;
}
constexpr ArgumentKind kind_of_all(std::initializer_list<ArgumentKind> kinds) {
  ArgumentKind all = ArgumentKind::number;
  for (const ArgumentKind kind : kinds) {
    if (kind == ArgumentKind::none) return kind;
    if (kind != ArgumentKind::number && all != ArgumentKind::other) all = kind;
  }
  return all;
}
template <class M>
std::integral_constant<ArgumentKind, kind_of_mode<M>()> argument_kind(const Tensor<M>&);
std::integral_constant<ArgumentKind, ArgumentKind::number> argument_kind(Scalar);
std::integral_constant<ArgumentKind, ArgumentKind::none> argument_kind(...);

template <class A>
struct KindOfArgument : decltype(argument_kind(std::declval<const A&>())) {};
template <class M>
struct KindOfArgument<std::vector<Tensor<M>>> : std::integral_constant<ArgumentKind, kind_of_mode<M>()> {};
template <class... A>
struct KindOfArgument<std::tuple<A...>>
    : std::integral_constant<ArgumentKind, kind_of_all({KindOfArgument<A>::value...})> {};
template <class A, class B>
struct KindOfArgument<std::pair<A, B>> : KindOfArgument<std::tuple<A, B>> {};

template <class A>
concept is_argument = KindOfArgument<A>::value != ArgumentKind::none;

/// Whether a compiled function may return it in lazy mode.
template <class R>
concept is_result = std::is_void_v<R> || requires(R& result, Value*& next) {
  restore(result, next);
};

/// Whether the arguments are lazy tensors and numbers, a tensor at least.
template <class... A>
inline constexpr bool are_lazy = kind_of_all({KindOfArgument<A>::value...}) == ArgumentKind::lazy;

template <class M>
const std::vector<Tensor<M>>& as_lazy(const std::vector<Tensor<M>>& list) {
  return list;
}
template <class A>
decltype(auto) as_lazy(const A& argument) {
  if constexpr (KindOfArgument<A>::value == ArgumentKind::number) return Tensor<Lazy>(argument);
  else return static_cast<const Tensor<Lazy>&>(argument);
}
template <class... A>
auto as_lazy(const std::tuple<A...>& arguments);
template <class A, class B>
auto as_lazy(const std::pair<A, B>& arguments) {
  return std::pair<std::decay_t<decltype(as_lazy(arguments.first))>, std::decay_t<decltype(as_lazy(arguments.second))>>(
      as_lazy(arguments.first), as_lazy(arguments.second));
}
template <class... A>
auto as_lazy(const std::tuple<A...>& arguments) {
  return std::apply(
      [](const A&... each) { return std::tuple<std::decay_t<decltype(as_lazy(each))>...>(as_lazy(each)...); },
      arguments);
}

/// How the arguments are made up of tensors, which tells their traces apart; nothing where each is one tensor.
template <class M>
void lay_out(const Tensor<M>&, std::string& out) {
  out += '.';
}
template <class M>
void lay_out(const std::vector<Tensor<M>>& list, std::string& out) {
  out += '(' + std::string(list.size(), '.') + ')';
}
template <class... A>
void lay_out(const std::tuple<A...>& arguments, std::string& out);
template <class A, class B>
void lay_out(const std::pair<A, B>& arguments, std::string& out) {
  out += '<';
  lay_out(arguments.first, out);
  lay_out(arguments.second, out);
  out += '>';
}
template <class... A>
void lay_out(const std::tuple<A...>& arguments, std::string& out) {
  out += '<';
  std::apply([&](const A&... each) { (lay_out(each, out), ...); }, arguments);
  out += '>';
}

/// The present value behind the handle of a variable or persistent tensor; any other value unchanged.
Value value_now(const Value& argument);

// In eager mode too an argument is a value: what the function does to its own name leaves a variable as it was.
template <class A>
A as_value(const A& argument) {
  if constexpr (KindOfArgument<A>::value == ArgumentKind::number) return argument;
  else return A(value_now(argument));
}
template <class M>
std::vector<Tensor<M>> as_value(const std::vector<Tensor<M>>& list) {
  std::vector<Tensor<M>> values;
  for (const Tensor<M>& each : list) values.push_back(as_value(each));
  return values;
}
template <class... A>
auto as_value(const std::tuple<A...>& arguments);
template <class A, class B>
auto as_value(const std::pair<A, B>& arguments) {
  return std::make_pair(as_value(arguments.first), as_value(arguments.second));
}
template <class... A>
auto as_value(const std::tuple<A...>& arguments) {
  return std::apply([](const A&... each) { return std::make_tuple(as_value(each)...); }, arguments);
}

}  // namespace detail

}  // namespace TYTO_API
