// SPDX-License-Identifier: MIT
// What the example of <tyto/resampling.hpp> takes for granted: images.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> image;
}  // namespace context
