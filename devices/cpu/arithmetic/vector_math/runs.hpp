// SPDX-License-Identifier: MIT
// Loops over runs of elements for functions with a cheap form near zero: the run is checked first, and the cheap form
// taken where all of it allows that.
#pragma once

#include "devices/cpu/arithmetic/vector_math/arithmetic.hpp"
#include "devices/cpu/arithmetic/vector_math/gamma.hpp"
#include "devices/cpu/arithmetic/vector_math/trigonometric.hpp"

namespace tyto::cpu::TYTO_ISA {

template <class T>
TYTO_VECTOR_INLINE mask all_near(const T* x, size_t n) {
  typename Format<T>::Bits far = 0;
  for (size_t i = 0; i < n; ++i) far |= abs(x[i]) <= near_limit<T>() ? 0u : 1u;
  return far == 0;
}

template <class T>
TYTO_VECTOR_INLINE mask fmod_all_near(const T* a, const T* b, size_t n) {
  typename Format<T>::Bits far = 0;
  for (size_t i = 0; i < n; ++i) far |= fmod_is_near(a[i], b[i]) ? 0u : 1u;
  return far == 0;
}

// y may be x; otherwise they do not overlap.
#define TYTO_NEAR_OR_FULL(name)                                    \
  template <class T>                                               \
  TYTO_VECTOR_INLINE void name##_run(const T* x, T* y, size_t n) { \
    if (all_near(x, n)) {                                          \
      for (size_t i = 0; i < n; ++i) y[i] = name##_near(x[i]);     \
    } else {                                                       \
      for (size_t i = 0; i < n; ++i) y[i] = name(x[i]);            \
    }                                                              \
  }
TYTO_NEAR_OR_FULL(sin)
TYTO_NEAR_OR_FULL(cos)
TYTO_NEAR_OR_FULL(tan)
#undef TYTO_NEAR_OR_FULL

template <class T>
TYTO_VECTOR_INLINE void lgamma_run(const T* x, T* y, size_t n) {
  typename Format<T>::Bits reflected = 0;
  for (size_t i = 0; i < n; ++i) reflected |= x[i] <= T(0) ? 1u : 0u;
  if (reflected == 0) {
    for (size_t i = 0; i < n; ++i) y[i] = lgamma_positive(x[i]);
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = lgamma(x[i]);
  }
}

// y may be a or b; otherwise they do not overlap.
template <class T>
TYTO_VECTOR_INLINE void fmod_run(const T* a, const T* b, T* y, size_t n) {
  if (fmod_all_near(a, b, n)) {
    for (size_t i = 0; i < n; ++i) y[i] = fmod_near(a[i], b[i]);
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = fmod(a[i], b[i]);
  }
}
template <class T>
TYTO_VECTOR_INLINE void remainder_run(const T* a, const T* b, T* y, size_t n) {
  if (fmod_all_near(a, b, n)) {
    for (size_t i = 0; i < n; ++i) y[i] = remainder_from(fmod_near(a[i], b[i]), b[i]);
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = remainder(a[i], b[i]);
  }
}
template <class T>
TYTO_VECTOR_INLINE void floor_divide_run(const T* a, const T* b, T* y, size_t n) {
  if (fmod_all_near(a, b, n)) {
    for (size_t i = 0; i < n; ++i) y[i] = floor_divide_from(fmod_near(a[i], b[i]), a[i], b[i]);
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = floor_divide(a[i], b[i]);
  }
}

}  // namespace tyto::cpu::TYTO_ISA
