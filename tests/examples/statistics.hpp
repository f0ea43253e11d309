// SPDX-License-Identifier: MIT
// What the examples of <tyto/statistics.hpp> take for granted: a tensor.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}
