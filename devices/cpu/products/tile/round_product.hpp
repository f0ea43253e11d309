// SPDX-License-Identifier: MIT
// A product that is rounded before anything is added to it, whatever the compiler makes of sums of products.
// On x86-64 and AArch64; elsewhere the compiler's flags decide.
#pragma once

namespace tyto::cpu::TYTO_ISA {

/// Keeps the compiler from contracting the product and the sum that follows to one rounding: separate operators round
/// both.
template <class Value>
[[gnu::always_inline]] inline void round_product([[maybe_unused]] Value& value) noexcept {
#if defined(__x86_64__)
  asm("" : "+x"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#endif
}

}  // namespace tyto::cpu::TYTO_ISA
