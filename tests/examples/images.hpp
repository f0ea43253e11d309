// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/images.hpp>: a picture from 0 to 1.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}
