// SPDX-License-Identifier: MIT
// One line with which a function made of operators is run by a plan in eager mode.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/graph/planned_call.hpp"
#include "tyto/tensor.hpp"

namespace tyto::core {

template <class T>
concept TensorOperand = requires {
  typename T::mode;
};

/// The arguments that are no tensors, bit for bit.
template <std::size_t most>
struct NumberWords {
  std::array<std::uint64_t, most> words{};
  std::size_t size = 0;

  void add(double number) { words[size++] = std::bit_cast<std::uint64_t>(number); }
  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  void add(T number) { words[size++] = static_cast<std::uint64_t>(number); }
  template <class T>
  void add(const std::optional<T>& number) {
    add(number.has_value());
    add(number.value_or(T{}));
  }
};

/// The result of `function`, given these arguments, by its plan; empty where the caller is to apply the operators.
///
///     if (Value planned = core::planned(&sinc<Any>, x)) return planned;
///
/// The function draws no random numbers, reads no states and depends on nothing but its arguments; and a line of
/// docs/numpy.md, or a function of PyTorch's, would be more than 1.3 times as slow as the better of NumPy and PyTorch
/// without its plan. ADR 107 lists the lines.
template <class... P, class... Given>
Value planned(Tensor<Any> (*function)(P...), const Given&... arguments) {
  static_assert(sizeof...(P) == sizeof...(Given));
  std::array<Value, (0u + ... + (TensorOperand<Given> ? 1u : 0u))> operands;
  NumberWords<2 * sizeof...(Given)> numbers;
  std::size_t operand = 0;
  const auto add_argument = [&]<class T>(const T& argument) {
    if constexpr (TensorOperand<T>) operands[operand++] = argument;
    else numbers.add(argument);
  };
  (add_argument(arguments), ...);
  const std::tuple given(function, std::tuple<const Given&...>(arguments...));
  const auto record = [](const void* context, std::span<const Value> replaced) -> Value {
    const auto& call = *static_cast<decltype(&given)>(context);
    std::size_t next = 0;
    const auto argument = [&]<class T>(const T& one) {
      if constexpr (TensorOperand<T>) return Tensor<Any>(replaced[next++]);
      else return one;
    };
    const auto with = [&](const Given&... each) { return std::tuple<decltype(argument(each))...>{argument(each)...}; };
    return std::apply(std::get<0>(call), std::apply(with, std::get<1>(call)));
  };
  return planned_result(
      {reinterpret_cast<std::uint64_t>(function), {numbers.words.data(), numbers.size}, operands, record, &given});
}

}  // namespace tyto::core
