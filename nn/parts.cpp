// SPDX-License-Identifier: MIT
// Splits tensors into a part for each process, and joins them.
#include "nn/parts.hpp"

#include <algorithm>

#include "core/device/process_group.hpp"
#include "tyto/distributed.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/nn/clipping.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

Tensor<Any> filled_up(const Tensor<Any>& flat, std::int64_t length) {
  const std::int64_t missing = length - flat.size();
  return missing == 0 ? flat : pad(flat, {0}, {missing});
}

}  // namespace

Tensor<Any> own_part(const Tensor<Any>& whole, std::int64_t part) {
  const std::int64_t begin = std::min(core::process_group().rank() * part, whole.size());
  const std::int64_t end = std::min(begin + part, whole.size());
  return filled_up(reshape(whole, {-1})(slice(begin, end)), part);
}

Tensor<Any> sum_of_own_part(const Tensor<Any>& whole, std::int64_t part) {
  return distributed::reduce_scatter(filled_up(reshape(whole, {-1}), part * core::process_group().size()));
}

Tensor<Any> joined_parts(const Tensor<Any>& part, const Shape& shape) {
  return reshape(distributed::all_gather(part)(slice(0, element_count(shape))), shape);
}

std::vector<Tensor<Any>> clipped_sums(std::vector<Tensor<Any>> sums, const std::function<bool(std::size_t)>& is_part,
                                      double limit) {
  Tensor<Any> of_parts, total;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Tensor<Any>& squares = is_part(i) ? of_parts : total;
    const Tensor<Any> own = l2_norm_sqr(sums[i]);
    squares = squares.defined() ? squares + own : own;
  }
  if (of_parts.defined()) {
    const Tensor<Any> all = distributed::all_reduce(of_parts);
    total = total.defined() ? total + all : all;
  }
  const Tensor<Any> factor = detail::clipping_factor(sqrt(total), limit);
  for (Tensor<Any>& each : sums) each = each * cast(factor, each.dtype());
  return sums;
}

}  // namespace nn
}  // namespace TYTO_API
