// SPDX-License-Identifier: MIT
// Weights as integers of few bits in blocks, each block with a scale and a zero point, and products with them.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// How many numbers a block may hold: a power of two of these limits.
inline constexpr std::int64_t least_quantised_block = 16, largest_quantised_block = std::int64_t{1} << 16;

/// The weights (n, k) of a product. In each row, blocks of 16, 32, 64, ... neighbours have one scale and one zero
/// point; the last block may be longer than the row.
template <class M>
struct QuantisedWeights {
  /// u8 (n, blocks, block * bits / 8): numbers from 0 on, the first of a byte in its lowest bits.
  Tensor<M> numbers = {};
  /// Floating-point numbers (n, blocks).
  Tensor<M> scales = {};
  /// The number that represents zero in each block: floating-point (n, blocks), or u8 with bits as those of `numbers`,
  /// each row from a byte of its own on. An undefined tensor: 2^(bits - 1).
  Tensor<M> zero_points = {};
  /// 2, 4 or 8.
  std::int64_t bits = 4;
};

/// Options of `quantise`.
struct QuantisationOptions {
  std::int64_t bits = 4;    ///< 2, 4 or 8
  std::int64_t block = 32;  ///< 16, 32, 64, ...: neighbours that share a scale
};

namespace detail {
QuantisedWeights<Any> quantise(const Tensor<Any>& weights, const QuantisationOptions& options);
Tensor<Any> dequantise(const QuantisedWeights<Any>& weights, std::int64_t columns);
Tensor<Any> quantised_matmul(const Tensor<Any>& a, const QuantisedWeights<Any>& weights);

template <class To, class From>
QuantisedWeights<To> in_mode_of(const QuantisedWeights<From>& weights) {
  return {Tensor<To>(weights.numbers.value()), Tensor<To>(weights.scales.value()),
          Tensor<To>(weights.zero_points.value()), weights.bits};
}
}  // namespace detail

/// Weights (n, k) rounded to numbers of few bits, zero in their middle: each block's scale is such that its number of
/// the largest magnitude becomes the least number. No error is raised for an infinity or NaN, but the finite numbers of
/// its block become NaN.
///
///     auto few_bits = quantise(weights, {.bits = 4, .block = 32});
///     auto y = quantised_matmul(x, few_bits);                 // about matmul(x, transpose(weights))
template <class M>
QuantisedWeights<M> quantise(const Tensor<M>& weights, const QuantisationOptions& options = {}) {
  return detail::in_mode_of<M>(detail::quantise(Tensor<Any>(weights.value()), options));
}

/// The weights (n, columns) that the numbers stand for: (number - zero point) * scale.
template <class M>
Tensor<M> dequantise(const QuantisedWeights<M>& weights, std::int64_t columns) {
  return Tensor<M>(detail::dequantise(detail::in_mode_of<Any>(weights), columns).value());
}

/// Rows (..., k) times the transpose of weights (n, k), which are read as they are: (..., n).
template <class M>
Tensor<M> quantised_matmul(const Tensor<M>& a, const std::type_identity_t<QuantisedWeights<M>>& weights) {
  return Tensor<M>(detail::quantised_matmul(Tensor<Any>(a.value()), detail::in_mode_of<Any>(weights)).value());
}

}  // namespace TYTO_API
