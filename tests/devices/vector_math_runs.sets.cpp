// SPDX-License-Identifier: MIT
// Loops over every function of the vector mathematics, compiled once an instruction set.
#include "tests/devices/vector_math_runs.hpp"
#include "devices/cpu/arithmetic/vector_math.hpp"

namespace tyto::test::TYTO_ISA {
namespace {
namespace math = cpu::TYTO_ISA;
using std::int32_t;
using std::int64_t;
using std::size_t;

#define TYTO_UNARY(name)                                    \
  template <class T>                                        \
  void name##_loop(const T* x, T* y, size_t n) {            \
    for (size_t i = 0; i < n; ++i) y[i] = math::name(x[i]); \
  }
#define TYTO_BINARY(name)                                         \
  template <class T>                                              \
  void name##_loop(const T* a, const T* b, T* y, size_t n) {      \
    for (size_t i = 0; i < n; ++i) y[i] = math::name(a[i], b[i]); \
  }

// clang-format off
#define TYTO_UNARY_REAL(X)                                                                             \
  X(exp) X(exp2) X(expm1) X(sinh) X(cosh) X(tanh) X(sigmoid)                                           \
  X(log) X(log2) X(log10) X(log1p) X(softplus) X(log_sigmoid) X(asinh) X(acosh) X(atanh)               \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(cbrt) X(sqrt) X(rsqrt)                                \
  X(erf) X(erfc) X(erfinv) X(dawsn) X(lgamma) X(digamma) X(floor) X(ceil) X(trunc) X(rint)
#define TYTO_UNARY_ALL(X) X(abs) X(sign)
#define TYTO_BINARY_REAL(X) X(atan2) X(hypot) X(fmax) X(fmin) X(copysign)
#define TYTO_BINARY_ALL(X) X(pow) X(fmod) X(remainder) X(floor_divide) X(maximum) X(minimum)
// clang-format on

TYTO_UNARY_REAL(TYTO_UNARY)
TYTO_UNARY_ALL(TYTO_UNARY)
TYTO_BINARY_REAL(TYTO_BINARY)
TYTO_BINARY_ALL(TYTO_BINARY)

// Of the functions that look through a run first, the run itself.
#define TYTO_LOOP(name) {#name, name##_loop},
#define TYTO_RUN_UNARY(T) {"sin_run", math::sin_run<T>}, {"cos_run", math::cos_run<T>}, {"tan_run", math::tan_run<T>},
#define TYTO_RUN_BINARY(T)                                                    \
  {"fmod_run", math::fmod_run<T>}, {"remainder_run", math::remainder_run<T>}, \
      {"floor_divide_run", math::floor_divide_run<T>},

template <class T>
constexpr UnaryRun<T> real_unary[] = {TYTO_UNARY_REAL(TYTO_LOOP) TYTO_UNARY_ALL(TYTO_LOOP)
                                          TYTO_RUN_UNARY(T){nullptr, nullptr}};
template <class T>
constexpr BinaryRun<T> real_binary[] = {TYTO_BINARY_REAL(TYTO_LOOP) TYTO_BINARY_ALL(TYTO_LOOP)
                                            TYTO_RUN_BINARY(T){nullptr, nullptr}};
template <class T>
constexpr UnaryRun<T> integer_unary[] = {TYTO_UNARY_ALL(TYTO_LOOP){nullptr, nullptr}};
template <class T>
constexpr BinaryRun<T> integer_binary[] = {TYTO_BINARY_ALL(TYTO_LOOP){nullptr, nullptr}};

}  // namespace

const VectorMathRuns vector_math_runs = {real_unary<float>,       real_unary<double>,     real_binary<float>,
                                         real_binary<double>,     integer_unary<int32_t>, integer_unary<int64_t>,
                                         integer_binary<int32_t>, integer_binary<int64_t>};

}  // namespace tyto::test::TYTO_ISA
