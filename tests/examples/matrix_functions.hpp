// SPDX-License-Identifier: MIT
// What the examples of <tyto/matrix_functions.hpp> take for granted: a square matrix.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}  // namespace context
