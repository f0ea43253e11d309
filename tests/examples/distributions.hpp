// SPDX-License-Identifier: MIT
// What the example of <tyto/distributions.hpp> takes for granted: a standard deviation.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> sigma;
}  // namespace context
