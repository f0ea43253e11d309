// SPDX-License-Identifier: MIT
// The incomplete gamma and beta functions for distributions: either tail, of numbers given with their complements, in
// which 1 - x would lose digits.
#pragma once

#include "ops/define.hpp"

namespace tyto::core {

/// The part of the gamma function's integral above x, in f64.
AnyTensor gamma_above(const Value& a, const Value& x);
/// The part of the beta function's integral up to x, in f64; `complement` is 1 - x.
AnyTensor beta_below(const Value& a, const Value& b, const Value& x, const Value& complement);

}  // namespace tyto::core
