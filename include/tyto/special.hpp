// SPDX-License-Identifier: MIT
// Functions of elements that are made of other ones: NumPy's everyday names, and special functions with two parameters.
#pragma once

#include <utility>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// a to the power b, under the name that C++ and the array API give it.
template <class M>
Tensor<M> pow(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  return power(a, b);
}
/// a to the power b in floating point, f64 for integers.
template <class M>
Tensor<M> float_power(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// floor_divide and remainder at once.
template <class M>
std::pair<Tensor<M>, Tensor<M>> divmod(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  return {floor_divide(a, b), remainder(a, b)};
}
/// The fraction and the whole part, both with the sign of x.
template <class M>
std::pair<Tensor<M>, Tensor<M>> modf(const Tensor<M>& x);
/// The mantissa in [0.5, 1) with the sign of x, and the exponent (i32): x is mantissa * 2^exponent.
template <class M>
std::pair<Tensor<M>, Tensor<M>> frexp(const Tensor<M>& x);
/// The number next to x in the direction of another one.
template <class M>
Tensor<M> nextafter(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& toward);
/// log2(2^a + 2^b), without overflow.
template <class M>
Tensor<M> logaddexp2(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);

/// NaN and infinities replaced by numbers; infinities by the largest that the type holds if nothing is said.
template <class M>
[[nodiscard]] Tensor<M> nan_to_num(const Tensor<M>& x, double nan = 0, std::optional<double> positive = {},
                                   std::optional<double> negative = {});
/// Where |a - b| <= absolute + relative * |b|; infinities are close to themselves, NaN to NaN if asked.
template <class M>
Tensor<M> isclose(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, double relative = 1e-5,
                  double absolute = 1e-8, Flag equal_nan = false);
/// Where x is infinity.
template <class M>
Tensor<M> isposinf(const Tensor<M>& x);
/// Where x is minus infinity.
template <class M>
Tensor<M> isneginf(const Tensor<M>& x);
/// Where the sign is minus, of zeros too.
template <class M>
Tensor<M> signbit(const Tensor<M>& x);
/// Degrees as radians.
template <class M>
Tensor<M> deg2rad(const Tensor<M>& x);
/// Radians as degrees.
template <class M>
Tensor<M> rad2deg(const Tensor<M>& x);
/// sin(pi x) / (pi x), and 1 at zero.
template <class M>
Tensor<M> sinc(const Tensor<M>& x);
/// 0 below zero, 1 above, and `at_zero` between.
template <class M>
Tensor<M> heaviside(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& at_zero);
/// The modified Bessel function of the first kind and order zero.
template <class M>
Tensor<M> i0(const Tensor<M>& x);

/// How many bits of the absolute value are set (u8).
template <class M>
Tensor<M> bitwise_count(const Tensor<M>& x);

/// The part of the gamma function's integral up to x over the whole, for a > 0 and x >= 0, in f64 inside; NaN of an
/// infinite a. Its error is some 1e-14 for parameters up to 2^53, as is that of betainc.
template <class M>
Tensor<M> gammainc(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& x);
/// The part of the beta function's integral up to x over the whole, for a, b > 0 and x in [0, 1], in f64 inside.
template <class M>
Tensor<M> betainc(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b,
                  const std::type_identity_t<Tensor<M>>& x);

}  // namespace TYTO_API
