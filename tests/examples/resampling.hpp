// SPDX-License-Identifier: MIT
// Definitions for the example of <tyto/resampling.hpp>: images.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> image;
}  // namespace context
