// SPDX-License-Identifier: MIT
// What the examples of <tyto/graph.hpp> take for granted: a recorded loss of two inputs and one variable.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> x, t, xs, ts, loss, w, w_next;
}
