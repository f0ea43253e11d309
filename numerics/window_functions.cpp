// SPDX-License-Identifier: MIT
// Window functions by their formulas, computed in f64 and rounded once.
#include "tyto/window_functions.hpp"

#include <numbers>

#include "ops/define.hpp"
#include "tyto/special.hpp"

namespace tyto TYTO_API {

namespace {

/// The window f at -1 to 1 along its length; a window of one element is its middle.
template <class T, class F>
T window(const char* function, std::int64_t count, DType dtype, const F& f) {
  if (count < 0) core::throw_error<ValueError>(function, ": the count ", count, " is negative");
  if (!is_floating(dtype)) core::throw_error<TypeError>(function, ": a floating type is needed, not ", dtype);
  if (count <= 1) return T::ones({count}, dtype);
  // From the middle, so that both halves are the same to the last bit.
  const T place = T::arange(1 - count, count, 2, DType::f64) / static_cast<double>(count - 1);
  return f(place).astype(dtype);
}

constexpr double pi = std::numbers::pi;

}  // namespace

template <class T>
T bartlett(std::int64_t count, DType dtype) {
  return window<T>("bartlett", count, dtype, [](const T& x) { return 1.0 - abs(x); });
}
template <class T>
T hanning(std::int64_t count, DType dtype) {
  return window<T>("hanning", count, dtype, [](const T& x) { return 0.5 + 0.5 * cos(x * pi); });
}
template <class T>
T hamming(std::int64_t count, DType dtype) {
  return window<T>("hamming", count, dtype, [](const T& x) { return 0.54 + 0.46 * cos(x * pi); });
}
template <class T>
T blackman(std::int64_t count, DType dtype) {
  return window<T>("blackman", count, dtype,
                   [](const T& x) { return 0.42 + 0.5 * cos(x * pi) + 0.08 * cos(x * (2 * pi)); });
}
template <class T>
T kaiser(std::int64_t count, double beta, DType dtype) {
  return window<T>("kaiser", count, dtype, [beta](const T& x) {
    return i0(beta * sqrt(maximum(1.0 - square(x), 0.0))) / i0(T::full({}, beta, DType::f64));
  });
}

#define TYTO_INSTANTIATE_WINDOWS(M)                            \
  template Tensor<M> bartlett<Tensor<M>>(std::int64_t, DType); \
  template Tensor<M> hanning<Tensor<M>>(std::int64_t, DType);  \
  template Tensor<M> hamming<Tensor<M>>(std::int64_t, DType);  \
  template Tensor<M> blackman<Tensor<M>>(std::int64_t, DType); \
  template Tensor<M> kaiser<Tensor<M>>(std::int64_t, double, DType);
TYTO_INSTANTIATE_WINDOWS(Eager)
TYTO_INSTANTIATE_WINDOWS(Lazy)
TYTO_INSTANTIATE_WINDOWS(Any)
#undef TYTO_INSTANTIATE_WINDOWS

}  // namespace TYTO_API
