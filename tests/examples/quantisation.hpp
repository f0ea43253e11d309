// SPDX-License-Identifier: MIT
// Definitions for the example of <tyto/quantisation.hpp>: rows, and the weights that they are multiplied by.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x, weights;
}  // namespace context
