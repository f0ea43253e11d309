// The type in which an element-wise operator works, by its domain.
#pragma once

#include "devices/cpu/tile_program.hpp"

namespace tyto::cpu {

inline constexpr core::Domain element_domains[] = {
#define TYTO_UNARY(name, domain, ...) core::Domain::domain,
#define TYTO_BINARY(name, domain, ...) core::Domain::domain,
#define TYTO_TERNARY(name, domain, ...) core::Domain::domain,
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
};

/// The domain of an element-wise operator.
constexpr core::Domain domain_of(core::OpId op) { return element_domains[static_cast<std::size_t>(op)]; }

/// Bools are bytes to the operators that leave them bools, and integers to the others.
constexpr DType working_type(core::Domain domain, DType type) {
  if (domain == core::Domain::logical) return DType::boolean;
  const bool as_bytes = domain == core::Domain::bitwise || domain == core::Domain::selection;
  return type == DType::boolean && as_bytes ? DType::boolean : compute_type(type);
}

}  // namespace tyto::cpu
