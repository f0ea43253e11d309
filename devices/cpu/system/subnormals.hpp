// SPDX-License-Identifier: MIT
// Flushes subnormal numbers to zero: a state of the processor for each thread, which the threads of a team share.
#pragma once

#include <cstdint>

namespace tyto::cpu {

/// The calling thread's rules of floating-point arithmetic; 0 where the processor is not known.
std::uint64_t arithmetic_rules() noexcept;
void set_arithmetic_rules(std::uint64_t rules) noexcept;
/// The rules with which threads start.
std::uint64_t usual_arithmetic_rules() noexcept;

/// The same rules, but with zeros in the place of subnormal operands and results.
std::uint64_t without_subnormals(std::uint64_t rules) noexcept;

}  // namespace tyto::cpu
