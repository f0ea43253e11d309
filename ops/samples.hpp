// SPDX-License-Identifier: MIT
// Small operands of any type for the samples of the operator table, in lazy mode, where nothing is computed.
#pragma once

#include "tyto/autodiff.hpp"
#include "tyto/reduce.hpp"
#include "tyto/tensor.hpp"

namespace tyto::core::samples {

using T = Tensor<Lazy>;

inline T square_matrix(DType type) { return T::ones({4, 4}, type); }
inline T line(DType type) { return T::ones({4}, type); }
inline T picture(DType type) { return T::ones({1, 4, 4, 2}, type); }
inline T positions() { return T::zeros({4}, DType::i64); }

/// The gradient of the sum of f at x: what records the operators that only gradients use.
template <class F>
T gradient(const F& f, const T& x) {
  return grad([&](const T& at) { return sum(f(at)); })(x);
}

}  // namespace tyto::core::samples
