// SPDX-License-Identifier: MIT
// Lists the elements of tensors of integers.
#pragma once

#include <cstdint>
#include <vector>

#include <tyto/tyto.hpp>

namespace tyto::testing {

using Numbers = std::vector<std::int64_t>;

template <class M>
Numbers numbers_of(const Tensor<M>& x) {
  const Tensor<M> wide = x.astype(DType::i64).reshape({-1});
  return wide.template to_vector<std::int64_t>();
}

}  // namespace tyto::testing
