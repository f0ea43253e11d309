// SPDX-License-Identifier: MIT
// States sharded over processes: flat, in parts of one length, the last ones padded with zeros.
#pragma once

#include <functional>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {
namespace nn {

/// The part that this process keeps of what all have.
Tensor<Any> own_part(const Tensor<Any>& whole, std::int64_t part);
/// The part that it keeps of the sum of what each has.
Tensor<Any> sum_of_own_part(const Tensor<Any>& whole, std::int64_t part);
/// The whole, of this shape, of the parts of all.
Tensor<Any> joined_parts(const Tensor<Any>& part, const Shape& shape);
/// Sums that all have, and the own parts of others, by one factor, so that together they are no longer than the limit.
std::vector<Tensor<Any>> clipped_sums(std::vector<Tensor<Any>> sums, const std::function<bool(std::size_t)>& is_part,
                                      double limit);

}  // namespace nn
}  // namespace TYTO_API
