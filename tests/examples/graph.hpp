// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/graph.hpp>: a recorded loss of two inputs and one variable.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x, t, xs, ts, loss, w, w_next;
}
