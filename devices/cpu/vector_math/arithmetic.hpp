// Signs, minima and maxima, quotients and remainders of floating-point numbers and integers, as NumPy defines them.
#pragma once

#include "devices/cpu/vector_math/bits.hpp"

namespace tyto::cpu::TYTO_ISA {

/// -1, 0 or 1; NaN of NaN.
template <class T>
TYTO_VECTOR_INLINE T sign(T x) {
  return select(x > T(0), T(1), select(x < T(0), T(-1), select(x == T(0), T(0), x)));
}

/// The larger; NaN where either is.
template <class T>
TYTO_VECTOR_INLINE T maximum(T a, T b) {
  return select(a >= b || a != a, a, b);
}
/// The smaller; NaN where either is.
template <class T>
TYTO_VECTOR_INLINE T minimum(T a, T b) {
  return select(a <= b || a != a, a, b);
}
/// The larger; the other one where one is NaN.
template <class T>
TYTO_VECTOR_INLINE T fmax(T a, T b) {
  return select(a >= b || b != b, a, b);
}
/// The smaller; the other one where one is NaN.
template <class T>
TYTO_VECTOR_INLINE T fmin(T a, T b) {
  return select(a <= b || b != b, a, b);
}

/// Whether fmod_near takes a and b: a quotient small enough for one exact step.
TYTO_VECTOR_INLINE bool fmod_is_near(float a, float b) {
  return abs(a) < abs(b) * 0x1p24f && abs(b) < Format<float>::infinity;
}
TYTO_VECTOR_INLINE bool fmod_is_near(double a, double b) {
  return abs(a) < abs(b) * 0x1p50 && abs(b) < 0x1p900 && abs(b) > 0x1p-900;
}

/// fmod by one division; for finite a, b whose quotient is small (fmod_is_near). Vectorises; fmod does not.
TYTO_VECTOR_INLINE float fmod_near(float a, float b) {
  const double x = static_cast<double>(abs(a)), y = static_cast<double>(abs(b));
  const double r =
      x - trunc(x / y) * y;  // exact: at most 24 + 24 bits; the quotient may have been rounded up to the next integer
  return copysign(static_cast<float>(select(r < 0.0, r + y, r)), a);
}
TYTO_VECTOR_INLINE double fmod_near(double a, double b) {
  const double x = abs(a), y = abs(b);
  const Pair p = exact_product(trunc(x / y), y);
  const double r = (x - p.high) - p.low;
  return copysign(select(r < 0.0, r + y, r), a);
}

TYTO_VECTOR_INLINE float fmod(float a, float b) { return fmod_is_near(a, b) ? fmod_near(a, b) : __builtin_fmodf(a, b); }
TYTO_VECTOR_INLINE double fmod(double a, double b) {
  return fmod_is_near(a, b) ? fmod_near(a, b) : __builtin_fmod(a, b);
}

/// The remainder with the sign of b, from m = fmod(a, b).
template <class T>
TYTO_VECTOR_INLINE T remainder_from(T m, T b) {
  const T moved = select((m < T(0)) != (b < T(0)), m + b, m);
  return select(m == T(0), copysign(T(0), b), moved);
}

/// floor(a / b), exact where the rounded quotient would not be, from m = fmod(a, b).
template <class T>
TYTO_VECTOR_INLINE T floor_divide_from(T m, T a, T b) {
  const T quotient = a / b;
  const T moved = (a - m) / b - select(m != T(0) && (m < T(0)) != (b < T(0)), T(1), T(0));
  const T down = floor(moved);
  const T whole = down + select(moved - down > T(0.5), T(1), T(0));
  return select(b == T(0), quotient, select(moved == T(0), copysign(T(0), quotient), whole));
}

template <class T>
TYTO_VECTOR_INLINE T remainder(T a, T b) {
  return remainder_from(fmod(a, b), b);
}
template <class T>
TYTO_VECTOR_INLINE T floor_divide(T a, T b) {
  return floor_divide_from(fmod(a, b), a, b);
}

TYTO_VECTOR_INLINE int32_t abs(int32_t x) {
  return static_cast<int32_t>(x < 0 ? 0u - static_cast<uint32_t>(x) : static_cast<uint32_t>(x));
}
TYTO_VECTOR_INLINE int64_t abs(int64_t x) {
  return static_cast<int64_t>(x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
}
TYTO_VECTOR_INLINE int32_t sign(int32_t x) { return (x > 0) - (x < 0); }
TYTO_VECTOR_INLINE int64_t sign(int64_t x) { return (x > 0) - (x < 0); }
TYTO_VECTOR_INLINE int32_t maximum(int32_t a, int32_t b) { return a > b ? a : b; }
TYTO_VECTOR_INLINE int64_t maximum(int64_t a, int64_t b) { return a > b ? a : b; }
TYTO_VECTOR_INLINE int32_t minimum(int32_t a, int32_t b) { return a < b ? a : b; }
TYTO_VECTOR_INLINE int64_t minimum(int64_t a, int64_t b) { return a < b ? a : b; }

/// The quotient towards zero, through double where that is exact: processors have no vector division of integers.
/// Division by zero gives 0, and the one quotient that overflows wraps; neither traps.
TYTO_VECTOR_INLINE int32_t truncated_quotient(int32_t a, int32_t b) {
  const bool overflow = a == INT32_MIN && b == -1;
  const double divisor = static_cast<double>(b == 0 || overflow ? 1 : b);
  const int32_t q = static_cast<int32_t>(static_cast<double>(a) / divisor);
  return b == 0 ? 0 : q;
}
TYTO_VECTOR_INLINE int64_t truncated_quotient(int64_t a, int64_t b) {
  const bool overflow = a == INT64_MIN && b == -1;
  const int64_t q = a / (b == 0 || overflow ? 1 : b);
  return b == 0 ? 0 : q;
}

/// a - q b in wrapping arithmetic; 0 for b == 0.
TYTO_VECTOR_INLINE int32_t fmod(int32_t a, int32_t b) {
  const uint32_t q = static_cast<uint32_t>(truncated_quotient(a, b));
  return b == 0 ? 0 : static_cast<int32_t>(static_cast<uint32_t>(a) - q * static_cast<uint32_t>(b));
}
TYTO_VECTOR_INLINE int64_t fmod(int64_t a, int64_t b) {
  const uint64_t q = static_cast<uint64_t>(truncated_quotient(a, b));
  return b == 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) - q * static_cast<uint64_t>(b));
}
TYTO_VECTOR_INLINE int32_t remainder(int32_t a, int32_t b) {
  const int32_t m = fmod(a, b);
  return m + (((m != 0) & ((m ^ b) < 0)) ? b : 0);
}
TYTO_VECTOR_INLINE int64_t remainder(int64_t a, int64_t b) {
  const int64_t m = fmod(a, b);
  return m + (((m != 0) & ((m ^ b) < 0)) ? b : 0);
}
TYTO_VECTOR_INLINE int32_t floor_divide(int32_t a, int32_t b) {
  const int32_t m = fmod(a, b);
  return truncated_quotient(a, b) - static_cast<int32_t>((m != 0) & ((m ^ b) < 0));
}
TYTO_VECTOR_INLINE int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t m = fmod(a, b);
  return truncated_quotient(a, b) - static_cast<int64_t>((m != 0) & ((m ^ b) < 0));
}

}  // namespace tyto::cpu::TYTO_ISA
