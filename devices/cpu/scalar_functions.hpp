// The functions that ops/elementwise.def names beyond the vector mathematics: integers' side of them, shifts, bits,
// predicates. Include it where vector_math.hpp may be included, under the same conditions.
#pragma once

#include "devices/cpu/vector_math.hpp"

namespace tyto::cpu::TYTO_ISA {

using std::int16_t;
using std::int8_t;
using std::ptrdiff_t;
using std::uint16_t;
using std::uint8_t;

/// A bool as it is stored: a byte that holds 0 or 1.
using Boolean = uint8_t;

template <class T>
TYTO_VECTOR_INLINE T sel(Boolean condition, T yes, T no) {
  return condition != 0 ? yes : no;
}

TYTO_VECTOR_INLINE Boolean is_infinite(float x) { return abs(x) == Format<float>::infinity; }
TYTO_VECTOR_INLINE Boolean is_infinite(double x) { return abs(x) == Format<double>::infinity; }
TYTO_VECTOR_INLINE Boolean is_infinite(int32_t) { return 0; }
TYTO_VECTOR_INLINE Boolean is_infinite(int64_t) { return 0; }
TYTO_VECTOR_INLINE Boolean is_finite(float x) { return abs(x) < Format<float>::infinity; }
TYTO_VECTOR_INLINE Boolean is_finite(double x) { return abs(x) < Format<double>::infinity; }
TYTO_VECTOR_INLINE Boolean is_finite(int32_t) { return 1; }
TYTO_VECTOR_INLINE Boolean is_finite(int64_t) { return 1; }

TYTO_VECTOR_INLINE float round_even(float x) { return rint(x); }
TYTO_VECTOR_INLINE double round_even(double x) { return rint(x); }

// Whole numbers have no fraction and are never NaN.
#define TYTO_INTEGER_FUNCTIONS(T)                                      \
  TYTO_VECTOR_INLINE T floor(T x) { return x; }                        \
  TYTO_VECTOR_INLINE T ceil(T x) { return x; }                         \
  TYTO_VECTOR_INLINE T trunc(T x) { return x; }                        \
  TYTO_VECTOR_INLINE T round_even(T x) { return x; }                   \
  TYTO_VECTOR_INLINE T fmax(T a, T b) { return a > b ? a : b; }        \
  TYTO_VECTOR_INLINE T fmin(T a, T b) { return a < b ? a : b; }        \
  TYTO_VECTOR_INLINE T bit_not(T x) { return ~x; }                     \
  TYTO_VECTOR_INLINE T left_shift(T a, T count) {                      \
    using Unsigned = u##T;                                             \
    constexpr Unsigned width = 8 * sizeof(T);                          \
    const Unsigned by = static_cast<Unsigned>(count);                  \
    const Unsigned shifted = static_cast<Unsigned>(a) << (by % width); \
    return by < width ? static_cast<T>(shifted) : T(0);                \
  }                                                                    \
  /* A count beyond the width, or a negative one, leaves the sign. */  \
  TYTO_VECTOR_INLINE T right_shift(T a, T count) {                     \
    using Unsigned = u##T;                                             \
    constexpr Unsigned width = 8 * sizeof(T);                          \
    const Unsigned by = static_cast<Unsigned>(count);                  \
    return a >> static_cast<T>(by < width ? by : width - 1);           \
  }
TYTO_INTEGER_FUNCTIONS(int32_t)
TYTO_INTEGER_FUNCTIONS(int64_t)
#undef TYTO_INTEGER_FUNCTIONS

TYTO_VECTOR_INLINE Boolean bit_not(Boolean x) { return x ^ 1u; }

/// log10(2) in two parts, the first short enough for n times it to be exact, and the reciprocal.
template <class T>
struct Log2Of10;
template <>
struct Log2Of10<float> {
  static constexpr float high = 0x1.344p-2f, low = 0x1.3509f8p-18f, reciprocal = 0x1.a934fp+1f, ln = 0x1.26bb1cp+1f;
};
template <>
struct Log2Of10<double> {
  static constexpr double high = 0x1.34413509f8p-2, low = -0x1.80433b83b532ap-44, reciprocal = 0x1.a934f0979a371p+1,
                          ln = 0x1.26bb1bbb55516p+1;
};

/// 10^x. At most 2 ulp.
template <class T>
TYTO_VECTOR_INLINE T exp10(T x) {
  using C = Log2Of10<T>;
  constexpr T low = sizeof(T) == 4 ? T(-46) : T(-325), high = sizeof(T) == 4 ? T(39) : T(309.5);
  const T c = clamp(x, low, high);
  const T n = mul_add(c, C::reciprocal, Format<T>::shifter) - Format<T>::shifter;
  const T r = mul_add(n, -C::low, mul_add(n, -C::high, c)) * C::ln;
  return scale(mul_add(r * r, exp_series(r), r) + T(1), n);
}

/// log(e^a + e^b). Where both are equal and infinite their difference is NaN and the answer is their value.
template <class T>
TYTO_VECTOR_INLINE T logaddexp(T a, T b) {
  const T distance = select(a == b, T(0), abs(a - b));
  return maximum(a, b) + log1p(exp(-distance));
}

/// The second derivative of log(Gamma(x)) for x > 0: recurrence up to 10, then the asymptotic series.
static inline double trigamma_positive(double x) {
  double sum = 0.0;
  for (; x < 10.0; x += 1.0) sum += 1.0 / (x * x);
  const double inverse = 1.0 / x, z = inverse * inverse;
  const double series =
      polynomial(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510);
  return sum + (inverse + 0.5 * z + inverse * z * series);
}

/// The derivative of digamma: +inf at its poles 0, -1, -2, ...
static inline double trigamma(double x) {
  if (!(x <= 0.0)) return trigamma_positive(x);
  if (x == floor(x)) return Format<double>::infinity;
  const double s = sin_near((x - rint(x)) * 3.14159265358979324);
  return 9.8696044010893586 / (s * s) - trigamma_positive(1.0 - x);
}
static inline float trigamma(float x) { return static_cast<float>(trigamma(static_cast<double>(x))); }

}  // namespace tyto::cpu::TYTO_ISA
