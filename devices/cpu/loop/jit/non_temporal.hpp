// SPDX-License-Identifier: MIT
// Decides when results are stored non-temporally (memory that is written whole need not be read first, and the caches
// keep their contents), and when operands are prefetched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/device/device.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu::jit {

/// Most of the result has left the caches before somebody reads it.
inline bool outgrows_caches(const core::Operand& result) {
  const double bytes = static_cast<double>(result.view.count()) * static_cast<double>(size_of(result.dtype));
  return bytes >= 0.5 * static_cast<double>(machine::shared_cache());
}

/// Cycles of a vector from which on its operands are prefetched beside usual stores, and in stages that store: what
/// shorter bodies read next, the processor has fetched itself in time.
inline constexpr double shortest_prefetched = 20;

/// Whether memory is what a loop waits for, by the time of an element in the caches and the bytes that its operands and
/// results have: during long computations the processor reads lines before they are written at no cost, while
/// non-temporal stores hold up what follows them.
inline bool waits_for_memory(double nanoseconds, double read, double written) {
  constexpr double most_computed = 0.8;
  return nanoseconds < most_computed * (read + 2 * written) / machine::memory_rate;
}

/// Rows begin and end within vectors, whose stores go to the caches: of shorter rows too many do.
inline constexpr std::int64_t shortest_non_temporal_row = 256;

/// Whether the operands' addresses, inputs first, allow it: results overlap no input, and are aligned alike.
inline bool allows_non_temporal_stores(std::span<std::byte* const> starts, std::size_t inputs) {
  constexpr std::uintptr_t most_vector_bytes = 64;
  const auto first = starts.begin() + static_cast<std::ptrdiff_t>(inputs);
  for (std::size_t i = inputs; i < starts.size(); ++i) {
    const auto difference = reinterpret_cast<std::uintptr_t>(starts[i]) - reinterpret_cast<std::uintptr_t>(*first);
    if (difference % most_vector_bytes != 0 || std::find(starts.begin(), first, starts[i]) != first) return false;
  }
  return true;
}

/// Has the non-temporal stores of this thread come before whatever it stores later. Once a thread's share of a kernel:
/// the processor waits for memory, so that after each rectangle nothing of the next one would be computed meanwhile.
inline void fence_non_temporal_stores() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace tyto::cpu::jit
