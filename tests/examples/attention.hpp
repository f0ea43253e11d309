// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/attention.hpp>: queries, keys and values.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> q, k, v;
}
