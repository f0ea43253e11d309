// SPDX-License-Identifier: MIT
// The interpreter's loop for every element-wise operator, generic in its operands' type, for sources that define
// TYTO_ISA.
//
// Everything has internal linkage or lies in the instruction set's namespace, so that sets share no symbol.
#pragma once

#include "devices/cpu/arithmetic/independent_loop.hpp"
#include "devices/cpu/arithmetic/tile_loops/invariant_division.hpp"
#include "devices/cpu/arithmetic/tile_loops/operator_expressions.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

template <Domain domain, class T>
struct ResultOf {
  using Type = T;
};
template <class T>
struct ResultOf<Domain::comparison, T> {
  using Type = Boolean;
};

template <class Operator, class T>
void unary_loop(void* out, const void* a, const void*, const void*, size_t n) {
  using Result = typename ResultOf<Operator::domain, T>::Type;
  Result* y = static_cast<Result*>(out);
  const T* x = static_cast<const T*>(a);
  TYTO_INDEPENDENT
  for (size_t i = 0; i < n; ++i) y[i] = static_cast<Result>(Operator::template apply<T>(x[i]));
}

template <class Operator, class T>
void binary_loop(void* out, const void* a, const void* b, const void*, size_t n) {
  using Result = typename ResultOf<Operator::domain, T>::Type;
  Result* y = static_cast<Result*>(out);
  const T* p = static_cast<const T*>(a);
  const T* q = static_cast<const T*>(b);
  TYTO_INDEPENDENT
  for (size_t i = 0; i < n; ++i) y[i] = static_cast<Result>(Operator::template apply<T>(p[i], q[i]));
}

template <class Operator, class T>
void ternary_loop(void* out, const void* a, const void* b, const void* c, size_t n) {
  // A selection's first operand is its condition.
  using First =
      typename ResultOf<Operator::domain == Domain::selection ? Domain::comparison : Domain::numeric, T>::Type;
  T* y = static_cast<T*>(out);
  const First* p = static_cast<const First*>(a);
  const T* q = static_cast<const T*>(b);
  const T* r = static_cast<const T*>(c);
  TYTO_INDEPENDENT
  for (size_t i = 0; i < n; ++i) y[i] = static_cast<T>(Operator::template apply<First, T>(p[i], q[i], r[i]));
}

/// Operators with a cheaper form for moderate operands take it where it holds for a whole run; no element's bits change
/// by that. Runs are short enough for one far element to cost little.
constexpr size_t run_length = 256;

#define TYTO_UNARY_RUN(name)                                                       \
  template <class T>                                                               \
  void name##_loop(void* out, const void* a, const void*, const void*, size_t n) { \
    for (size_t i = 0; i < n; i += run_length) {                                   \
      const size_t length = n - i < run_length ? n - i : run_length;               \
      name##_run(static_cast<const T*>(a) + i, static_cast<T*>(out) + i, length);  \
    }                                                                              \
  }
#define TYTO_BINARY_RUN(name)                                                                                   \
  template <class T>                                                                                            \
  void name##_loop(void* out, const void* a, const void* b, const void*, size_t n) {                            \
    for (size_t i = 0; i < n; i += run_length) {                                                                \
      const size_t length = n - i < run_length ? n - i : run_length;                                            \
      name##_run(static_cast<const T*>(a) + i, static_cast<const T*>(b) + i, static_cast<T*>(out) + i, length); \
    }                                                                                                           \
  }
TYTO_UNARY_RUN(sin)
TYTO_UNARY_RUN(cos)
TYTO_UNARY_RUN(tan)
TYTO_UNARY_RUN(lgamma)
TYTO_BINARY_RUN(fmod)
TYTO_BINARY_RUN(remainder)
TYTO_BINARY_RUN(floor_divide)

/// As binary_loop, multiplying by the reciprocal where a run's divisors are one number.
template <class Division>
void division_loop(void* out, const void* a, const void* b, const void*, size_t n) {
  for (size_t i = 0; i < n; i += run_length) {
    const size_t length = n - i < run_length ? n - i : run_length;
    const i64* const p = static_cast<const i64*>(a) + i;
    const i64* const q = static_cast<const i64*>(b) + i;
    i64* const y = static_cast<i64*>(out) + i;
    if (is_invariant(q, length)) Division::run(p, q[0], y, length);
    else Division::each(p, q, y, length);
  }
}

template <class Operator, class T>
consteval TileLoop unary() {
  if constexpr (defined_on<T>(Operator::domain)) return &unary_loop<Operator, T>;
  return nullptr;
}
template <class Operator, class T>
consteval TileLoop binary() {
  if constexpr (defined_on<T>(Operator::domain)) return &binary_loop<Operator, T>;
  return nullptr;
}
template <class Operator, class T>
consteval TileLoop ternary() {
  if constexpr (defined_on<T>(Operator::domain)) return &ternary_loop<Operator, T>;
  return nullptr;
}

// Explicit specialisations, so that the generic loops of these operators are not even compiled for floating-point
// types.
#define TYTO_HAS_RUNS(name, form)                      \
  template <>                                          \
  consteval TileLoop form<name##_operator, float>() {  \
    return &name##_loop<float>;                        \
  }                                                    \
  template <>                                          \
  consteval TileLoop form<name##_operator, double>() { \
    return &name##_loop<double>;                       \
  }
TYTO_HAS_RUNS(sin, unary)
TYTO_HAS_RUNS(cos, unary)
TYTO_HAS_RUNS(tan, unary)
TYTO_HAS_RUNS(lgamma, unary)
TYTO_HAS_RUNS(fmod, binary)
TYTO_HAS_RUNS(remainder, binary)
TYTO_HAS_RUNS(floor_divide, binary)

#define TYTO_HAS_INVARIANT_DIVISORS(name, division)       \
  template <>                                             \
  consteval TileLoop binary<name##_operator, int64_t>() { \
    return &division_loop<division>;                      \
  }
TYTO_HAS_INVARIANT_DIVISORS(floor_divide, FlooredQuotients)
TYTO_HAS_INVARIANT_DIVISORS(remainder, FlooredRemainders)
TYTO_HAS_INVARIANT_DIVISORS(fmod, TruncatedRemainders)

}  // namespace

}  // namespace tyto::cpu::TYTO_ISA
