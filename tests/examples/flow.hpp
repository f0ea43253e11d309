// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/flow.hpp>.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x, norm, zero, one, xs;
}
