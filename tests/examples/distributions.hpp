// SPDX-License-Identifier: MIT
// Definitions for the example of <tyto/distributions.hpp>: a standard deviation.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> sigma;
}  // namespace context
