// SPDX-License-Identifier: MIT
// Every element-wise operator's expression as a function of lanes, for sources that define TYTO_ISA: the loops of an
// instruction set evaluate it on scalars, the JIT on lanes that record their code.
//
// Everything has internal linkage, so that instruction sets share no symbol.
#pragma once

#include "devices/cpu/arithmetic/scalar_functions.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

/// Writes num(0.5) in an expression as a constant of the operand's type.
template <class T>
struct Number {
  constexpr T operator()(double value) const { return static_cast<T>(value); }
};

enum class Domain { floating, numeric, arithmetic, comparison, logical, bitwise, integer, selection };

template <class T>
constexpr bool floating_type = false;
template <>
constexpr bool floating_type<f32> = true;
template <>
constexpr bool floating_type<f64> = true;
template <class T>
constexpr bool boolean_type = false;
template <>
constexpr bool boolean_type<Boolean> = true;

/// Whether a domain's operators work on T. Bools take the numeric domains as integers.
template <class T>
constexpr bool defined_on(Domain domain) {
  switch (domain) {
    case Domain::floating: return floating_type<T>;
    case Domain::logical: return boolean_type<T>;
    case Domain::bitwise: return !floating_type<T>;
    case Domain::integer: return !floating_type<T> && !boolean_type<T>;
    case Domain::selection: return true;
    default: return !boolean_type<T>;
  }
}

#define TYTO_UNARY(name, domain_name, expression, ...)    \
  struct name##_operator {                                \
    static constexpr Domain domain = Domain::domain_name; \
    template <class T>                                    \
    TYTO_VECTOR_INLINE auto apply(T x) {                  \
      [[maybe_unused]] constexpr Number<T> num;           \
      return expression;                                  \
    }                                                     \
  };
#define TYTO_BINARY(name, domain_name, expression, ...)   \
  struct name##_operator {                                \
    static constexpr Domain domain = Domain::domain_name; \
    template <class T>                                    \
    TYTO_VECTOR_INLINE auto apply(T a, T b) {             \
      return expression;                                  \
    }                                                     \
  };
#define TYTO_TERNARY(name, domain_name, expression, ...)  \
  struct name##_operator {                                \
    static constexpr Domain domain = Domain::domain_name; \
    template <class A, class T>                           \
    TYTO_VECTOR_INLINE auto apply(A a, T b, T c) {        \
      return expression;                                  \
    }                                                     \
  };
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY

}  // namespace

}  // namespace tyto::cpu::TYTO_ISA
