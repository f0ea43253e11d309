// SPDX-License-Identifier: MIT
// One function per element-wise operator that yields its gradient rule, or null when it has none.
#pragma once

#include "core/graph/operator.hpp"

namespace tyto::core {

#define TYTO_UNARY(name) GradientRule gradient_of_##name();
#define TYTO_BINARY(name) GradientRule gradient_of_##name();
#define TYTO_TERNARY(name) GradientRule gradient_of_##name();
#include "tyto/ops/elementwise_names.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY

}  // namespace tyto::core
