// SPDX-License-Identifier: MIT
// The types that the CPU computes loops in, and loop programs with explicit casts between them.
#pragma once

#include <span>

#include "core/graph/loop_program.hpp"
#include "core/graph/operator.hpp"

namespace tyto::cpu {

/// Inputs of a loop, and as many outputs.
inline constexpr std::size_t most_operands = 64;

/// The type an operator computes in: bools and narrow integers in i32, u32 in i64, which holds all of it, u64, which
/// nothing wider holds, in itself, f16 and bf16 in f32.
constexpr DType compute_type(DType type) {
  if (type == DType::u32) return DType::i64;
  if (type == DType::boolean || (is_integer(type) && size_of(type) < 4)) return DType::i32;
  return type == DType::f16 || type == DType::bf16 ? DType::f32 : type;
}

/// The same by the operator's domain: bools are bytes to the operators that leave them bools, and integers to the
/// others.
constexpr DType working_type(core::Domain domain, DType type) {
  if (domain == core::Domain::logical) return DType::boolean;
  const bool as_bytes = domain == core::Domain::bitwise || domain == core::Domain::selection;
  return type == DType::boolean && as_bytes ? DType::boolean : compute_type(type);
}

/// The program in the types that operators work in, which is what the interpreter and machine code follow: boolean
/// (for the logical and bitwise operators and selections), i32, i64, u64, f32 or f64. Operands are cast to the type
/// their operator works in, which is that of its last one, and a result is rounded to its own type by a cast before
/// another instruction reads it; a result that nothing reads is rounded as it is written. A constant's number may be
/// one that its type does not have. A program of that form stays as it is.
core::LoopProgram with_explicit_casts(const core::LoopProgram& program, std::span<const DType> inputs);

/// Whether the value of such a program is an input in another type, which the interpreter converts as it reads memory.
bool is_cast_input(const core::LoopProgram& program, std::size_t value);

}  // namespace tyto::cpu
