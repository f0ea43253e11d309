// SPDX-License-Identifier: MIT
// Truth values packed eight to a byte, and bytes as the truth values of their bits.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// The order of bits in a byte: the first of eight elements is the bit of 128 (big) or of 1.
enum class BitOrder : std::uint8_t { big, little };

/// Packs each eight elements along an axis into a byte (u8) whose bits tell which are not zero; zeros fill the last
/// byte. Packs the flattened tensor without an axis.
template <class M>
Tensor<M> packbits(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, BitOrder order = BitOrder::big);
/// The bits of bytes along an axis as 0 and 1 (u8): all, the first `count`, which zeros fill up, or all but the last
/// ones for a negative `count`. Of the flattened tensor without an axis.
template <class M>
Tensor<M> unpackbits(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, std::optional<std::int64_t> count = {},
                     BitOrder order = BitOrder::big);

}  // namespace TYTO_API
