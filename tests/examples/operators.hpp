// SPDX-License-Identifier: MIT
// What the example of <tyto/operators.hpp> takes for granted: a matrix.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}  // namespace context
