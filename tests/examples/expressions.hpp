// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/expressions.hpp>: a placeholder.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}  // namespace context
