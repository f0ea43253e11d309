// SPDX-License-Identifier: MIT
// Translates operators over elements and rows into loop programs; nothing else does, on any device.
#pragma once

#include <optional>

#include "core/loop/bound_loop.hpp"

namespace tyto::core {

/// The loop of an element-wise operator, cast, copy, softmax, log_softmax, var, logsumexp or fused group; nothing for
/// other operators. Softmaxes, variances and logarithms of sums come as simple reductions; those of a group
/// stay as they are. The sum of a softmax is in f64 where the device has it. Loops over complex numbers come as loops
/// over their parts. Of a group, quotients and remainders of powers of two come as shifts and masks.
std::optional<BoundLoop> loop_of(const Step& step, bool has_f64 = true);

/// The type that elements are squared or exponentiated in before they are added up: never one of 16 bits.
DType wide_enough(DType type, bool has_f64);

/// The loop with the variances and logarithms of sums among its instructions spelt out as simple reductions.
BoundLoop with_simple_reductions(const BoundLoop& bound, bool has_f64);

}  // namespace tyto::core
