// SPDX-License-Identifier: MIT
// What the examples of <tyto/autodiff.hpp> take for granted.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}
