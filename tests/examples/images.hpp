// SPDX-License-Identifier: MIT
// What the examples of <tyto/images.hpp> take for granted: a picture from 0 to 1.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x;
}
