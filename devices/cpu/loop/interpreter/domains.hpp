// SPDX-License-Identifier: MIT
// The type in which an element-wise operator works, by its domain.
#pragma once

#include "devices/cpu/loop/tile_program.hpp"

namespace tyto::cpu {

/// Bools are bytes to the operators that leave them bools, and integers to the others.
constexpr DType working_type(core::Domain domain, DType type) {
  if (domain == core::Domain::logical) return DType::boolean;
  const bool as_bytes = domain == core::Domain::bitwise || domain == core::Domain::selection;
  return type == DType::boolean && as_bytes ? DType::boolean : compute_type(type);
}

}  // namespace tyto::cpu
