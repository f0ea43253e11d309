// SPDX-License-Identifier: MIT
// What the examples of <tyto/expressions.hpp> take for granted: a placeholder.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}  // namespace context
