// SPDX-License-Identifier: MIT
// Definitions for the example of <tyto/operators.hpp>: a matrix.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}  // namespace context
