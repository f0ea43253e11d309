// SPDX-License-Identifier: MIT
// Definitions for the examples of docs/optimiser.md: a function to be compiled, and the language of rules.
#pragma once

#include <tyto/tyto.hpp>

#include "optimiser/passes/rule.hpp"

namespace context {
using namespace tyto::optimiser;
tyto::Tensor<tyto::Lazy> step(const tyto::Tensor<tyto::Lazy>& x);
}  // namespace context
