// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/dlpack.hpp>: a tensor.
#pragma once

#include <tyto/dlpack.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}
