// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/matrix_functions.hpp>: a square matrix.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}  // namespace context
