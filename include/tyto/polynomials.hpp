// SPDX-License-Identifier: MIT
// Polynomials as vectors of coefficients, the highest power first: sums, differences, products, values and zeros.
#pragma once

#include <cstdint>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

namespace fft {  // beside tyto::same and tyto::valid of windows.hpp GCC's -Wshadow takes the enumerators for shadows
/// The part of a convolution that is returned: wherever the operands overlap, the middle of that, or where one lies
/// inside of the other, as NumPy's and SciPy's modes of these names.
enum class Overlap : std::uint8_t { full, same, valid };
}  // namespace fft
using fft::Overlap;

/// The discrete convolution of two vectors; with Overlap::same as many elements as the longer one has.
template <class M>
Tensor<M> convolve(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, Overlap overlap = Overlap::full);
/// The cross-correlation of two vectors: sums of a's elements times b's at each shift.
template <class M>
Tensor<M> correlate(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, Overlap overlap = Overlap::valid);

/// The polynomial at each element of x.
template <class M>
Tensor<M> polyval(const Tensor<M>& coefficients, const std::type_identity_t<Tensor<M>>& x);
/// The polynomial of a degree with the smallest squared distance from the points (x, y), which may be weighted.
template <class M>
Tensor<M> polyfit(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& y, std::int64_t degree,
                  const std::type_identity_t<Tensor<M>>& weights = {});
/// The sum of two polynomials, as long as the longer one.
template <class M>
Tensor<M> polyadd(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// The difference of two polynomials, as long as the longer one.
template <class M>
Tensor<M> polysub(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// The product of two polynomials: the convolution of their coefficients.
template <class M>
Tensor<M> polymul(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// Quotient and remainder of a division. The remainder has one element less than the divisor, zeros in front included
/// (NumPy cuts them off), of a constant divisor one; a dividend shorter than the divisor is the remainder as it is.
template <class M>
struct PolynomialDivision {
  Tensor<M> quotient, remainder;  ///< coefficients, highest power first
};
template <class M>
PolynomialDivision<M> polydiv(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// The polynomial with the given zeros and the leading coefficient 1; of a square matrix its characteristic polynomial.
template <class M>
Tensor<M> poly(const Tensor<M>& zeros);
/// The zeros of a polynomial, complex and in no particular order: eigenvalues of its companion matrix. The leading
/// coefficient must not be 0.
template <class M>
Tensor<M> roots(const Tensor<M>& coefficients);
/// The derivative of the given order.
template <class M>
Tensor<M> polyder(const Tensor<M>& coefficients, std::int64_t order = 1);
/// The antiderivative whose constant is `constant`.
template <class M>
Tensor<M> polyint(const Tensor<M>& coefficients, double constant = 0);

}  // namespace TYTO_API
