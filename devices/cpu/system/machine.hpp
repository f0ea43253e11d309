// SPDX-License-Identifier: MIT
// What kernels assume of the machine: the sizes of its caches, how much it moves and computes in a nanosecond, what
// waking a thread costs. Whatever is tuned to a machine is a formula of these.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tyto::cpu::machine {

/// Bytes that come from memory together.
inline constexpr std::int64_t cache_line = 64;

/// Bytes ahead of what a loop reads that it prefetches: far enough for the latency of memory, near enough that lines
/// are not evicted before use.
inline constexpr std::int64_t prefetch_distance = 4096;

/// A core's own caches, of the smallest processors that matter. They are not asked of the system, since blocks are cut
/// by them: on every machine the same blocks, and with them the same bits.
inline constexpr std::int64_t first_level_cache = 32 << 10;
inline constexpr std::int64_t second_level_cache = 1 << 20;

/// The cache that cores share, as the system states it, within what one process can hope for.
std::int64_t shared_cache() noexcept;

/// Bytes that one thread moves in a nanosecond from or to its own caches, the shared one and memory.
inline constexpr double own_rate = 50;
inline constexpr double shared_rate = 20;
inline constexpr double memory_rate = 10;

/// Nanoseconds for so many bytes from where they fit; a copy moves each byte twice.
double nanoseconds_to_move(double bytes) noexcept;

/// Operations of one thread in a nanosecond, a multiplication and its addition being two: of a register tile in single
/// precision, of vectors that come from caches, and of elements one by one.
inline constexpr double tile_operations = 40;
inline constexpr double vector_operations = 10;
inline constexpr double scalar_operations = 2;

/// Nanoseconds of work from which on sleeping threads are worth waking, and threads that are awake worth meeting. With
/// two threads both are measured; with more, what meeting costs grows with their number.
constexpr double worth_waking(int threads) noexcept { return std::max(20'000.0, 2'000.0 * threads); }
constexpr double worth_meeting(int threads) noexcept { return 1'000.0 + 1'000.0 * threads; }

}  // namespace tyto::cpu::machine
