// SPDX-License-Identifier: MIT
// When stores of results are non-temporal: memory that is written whole need not be read first, and what lies in the
// caches stays there. And when operands are prefetched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/device/device.hpp"

namespace tyto::cpu::jit {

/// Operands and results of more bytes come from memory: what is read next is prefetched.
inline constexpr double cache_bytes = 24e6;

/// Most of the result has left the caches before somebody reads it.
inline bool outgrows_caches(const core::Operand& result) {
  constexpr double bytes = 16e6;  // half of what many processors share
  return static_cast<double>(result.view.count()) * static_cast<double>(size_of(result.dtype)) >= bytes;
}

/// Bytes that memory gives or takes in a nanosecond.
inline constexpr double memory_bytes = 10;

/// Cycles of a vector from which on its operands are prefetched beside usual stores, and in stages that store: what
/// shorter bodies read next, the processor has fetched itself in time.
inline constexpr double shortest_prefetched = 20;

/// Nanoseconds for so many bytes from where they fit: a processor's own caches, those that it shares, or memory.
inline double nanoseconds_to_move(double bytes) {
  constexpr double own_cache_bytes = 512e3, own_rate = 50, shared_rate = 20;
  return bytes / (bytes <= own_cache_bytes ? own_rate : bytes <= cache_bytes ? shared_rate : memory_bytes);
}

/// Whether memory is what a loop waits for, by the time of an element in the caches and the bytes that its operands and
/// results have: beside long computations the processor reads lines before they are written at no cost, while
/// non-temporal stores hold up what follows them.
inline bool waits_for_memory(double nanoseconds, double read, double written) {
  constexpr double most_computed = 0.8;
  return nanoseconds < most_computed * (read + 2 * written) / memory_bytes;
}

/// Rows begin and end within vectors, whose stores go to the caches: of shorter rows too many do.
inline constexpr std::int64_t shortest_non_temporal_row = 256;

/// By where operands start, inputs first: results lie over no input, and alike within vectors.
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
