// SPDX-License-Identifier: MIT
// Sets the control registers for subnormal numbers: MXCSR of x86, FPCR of Arm.
#include "devices/cpu/system/subnormals.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tyto::cpu {

#if defined(__SSE2__)

namespace {
// The bits below are status flags.
constexpr unsigned rules_of_register = 0xffc0u;
constexpr unsigned flush_to_zero = 0x8000u, operands_are_zeros = 0x0040u;
}  // namespace

std::uint64_t arithmetic_rules() noexcept { return _mm_getcsr() & rules_of_register; }
void set_arithmetic_rules(std::uint64_t rules) noexcept {
  const unsigned now = _mm_getcsr();
  if ((now & rules_of_register) != rules) _mm_setcsr((now & ~rules_of_register) | static_cast<unsigned>(rules));
}
std::uint64_t usual_arithmetic_rules() noexcept { return 0x1f80u & rules_of_register; }
std::uint64_t without_subnormals(std::uint64_t rules) noexcept { return rules | flush_to_zero | operands_are_zeros; }

#elif defined(__aarch64__)

std::uint64_t arithmetic_rules() noexcept {
  std::uint64_t rules = 0;
  asm volatile("mrs %0, fpcr" : "=r"(rules));
  return rules;
}
void set_arithmetic_rules(std::uint64_t rules) noexcept {
  if (arithmetic_rules() != rules) asm volatile("msr fpcr, %0" : : "r"(rules));
}
std::uint64_t usual_arithmetic_rules() noexcept { return 0; }
std::uint64_t without_subnormals(std::uint64_t rules) noexcept { return rules | (std::uint64_t{1} << 24); }

#else

std::uint64_t arithmetic_rules() noexcept { return 0; }
void set_arithmetic_rules(std::uint64_t) noexcept {}
std::uint64_t usual_arithmetic_rules() noexcept { return 0; }
std::uint64_t without_subnormals(std::uint64_t rules) noexcept { return rules; }

#endif

}  // namespace tyto::cpu
