// SPDX-License-Identifier: MIT
// A product that is rounded before anything is added to it, whatever the compiler makes of sums of products.
// On x86-64 and AArch64; elsewhere the compiler's flags decide.
#pragma once

namespace tyto::cpu::TYTO_ISA {

/// What is added to the product stays a sum of its own, as where an operator by itself adds it: no compiler makes one
/// rounding of both.
template <class Value>
[[gnu::always_inline]] inline void round_product([[maybe_unused]] Value& value) noexcept {
#if defined(__x86_64__)
  asm("" : "+x"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#endif
}

}  // namespace tyto::cpu::TYTO_ISA
