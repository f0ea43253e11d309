// SPDX-License-Identifier: MIT
// What the examples of <tyto/attention.hpp> take for granted: queries, keys and values.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> q, k, v;
}
