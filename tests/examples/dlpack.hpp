// SPDX-License-Identifier: MIT
// What the examples of <tyto/dlpack.hpp> take for granted: a tensor.
#pragma once

#include <tyto/dlpack.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}
