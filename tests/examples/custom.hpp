// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/custom.hpp>.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}
