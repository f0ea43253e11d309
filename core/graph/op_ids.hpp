// SPDX-License-Identifier: MIT
// The operators' ids, expanded from the lists in ops/. Only sources that name an operator include this header, and not
// core/graph/operator.hpp, so that a new operator rebuilds few of the others.
#pragma once

#include "core/graph/operator.hpp"

namespace tyto::core {

// The element-wise operators come first, in the order of their list.
enum class OpId : std::uint16_t {
#define TYTO_UNARY(name) name,
#define TYTO_BINARY(name) name,
#define TYTO_TERNARY(name) name,
#include "tyto/ops/elementwise_names.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
#define TYTO_OP(name, ...) name,
#include "tyto/ops/ops.def"
#undef TYTO_OP
  count
};

inline constexpr std::size_t op_count = static_cast<std::size_t>(OpId::count);

inline constexpr std::size_t elementwise_count = 0
#define TYTO_UNARY(name) +1
#define TYTO_BINARY(name) +1
#define TYTO_TERNARY(name) +1
#include "tyto/ops/elementwise_names.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
    ;

/// Whether the operator is one of ops/elementwise.def.
constexpr bool is_listed_elementwise(OpId op) { return static_cast<std::size_t>(op) < elementwise_count; }

}  // namespace tyto::core
