// SPDX-License-Identifier: MIT
// Constants that kernels assume of the machine: sizes of caches, bytes and operations a nanosecond, the cost of waking
// a thread. Whatever is tuned to a machine is a formula of these.
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
/// Bytes that a block of a loop reads, writes and keeps at a time.
inline constexpr std::int64_t block_bytes = 3 * first_level_cache / 4;

/// The cache that cores share, as the system states it, within what one process can hope for.
std::int64_t shared_cache() noexcept;

/// Bytes that one thread moves in a nanosecond from or to its own caches, the shared one and memory.
inline constexpr double own_rate = 50;
inline constexpr double shared_rate = 20;
inline constexpr double memory_rate = 10;

/// Whether so many bytes come from memory, where what is read next is prefetched.
bool come_from_memory(double bytes) noexcept;

/// Nanoseconds for so many bytes from where they fit; a copy moves each byte twice.
double nanoseconds_to_move(double bytes) noexcept;

/// Cycles of a processor in a nanosecond.
inline constexpr double clock_rate = 3;

/// Operations of one thread in a nanosecond, a multiplication and its addition being two: of a register tile in single
/// precision, of oneDNN in single precision, in bf16 and of bytes, of vectors that come from caches, and of elements
/// one by one.
inline constexpr double tile_operations = 40;
inline constexpr double onednn_operations = 1.5 * tile_operations, bf16_operations = 2.5 * tile_operations;
inline constexpr double byte_operations = 2 * bf16_operations;
inline constexpr double vector_operations = 10;
inline constexpr double scalar_operations = 2;

/// Nanoseconds of one thread (Zen 5, November 2026, as all that follows, where nothing else is said) for an element:
/// filled by a formula, read or written where an index says, compared by a sort, searched for by itself, beside its
/// neighbours and among edges, transposed, computed by an instruction of the interpreter; for a row read where one
/// index or several say; for a quantised weight, read and multiplied by a row.
inline constexpr double filled_element = 0.5, indexed_element = 2, written_element = 0.4, compared_key = 0.3;
inline constexpr double searched_element = 100, merged_element = 3, binned_element = 4, transposed_element = 0.2;
inline constexpr double interpreted_instruction = 0.3, indexed_row = 3, gathered_row = 5;
inline constexpr double quantised_weight = 0.05, quantised_product = 0.02;

/// Elements side by side, fewer of which are copied to patches too slowly to be worth it. Rows, and multiplications
/// with an addition, up to which a product reads its right matrix where it lies sooner than packed.
inline constexpr std::int64_t short_run = 32, few_rows = 12, few_multiply_adds = 200'000;

/// Nanoseconds of convolutions of one channel, from 1 to 2,000 taps over lines of 8 to 40,000 pixels: of the loop along
/// lines a call, a tap of it, and a product in vectors; of code that puts channels side by side a call, a line and a
/// product, and of signals a pixel, and products of fewer taps than short_run (oneDNN).
inline constexpr double line_call = 25, line_tap = 2, line_product = 0.03, channels_call = 800, channels_line = 60;
inline constexpr double channels_pixel = 5, channels_product = 0.2, channels_short_product = 0.6;

/// Nanoseconds of products of integers, for an element of the right matrix: to copy it across its rows and along them,
/// for each row its part of a dot product, of a block of rows and, of 8 or 16 bits, of a row by itself, and what a row
/// saves where the block comes from a copy.
inline constexpr double integer_copy_across = 0.34, integer_copy_along = 0.09;
inline constexpr double integer_dot = 0.042, integer_block = 0.0094, integer_row = 0.034, integer_copied_row = 0.002;

/// Cycles of small products: a block of rows of loops over unpacked matrices and an element copied across its rows, a
/// dot product's end, and those of the register tile: a call, a block, a row of the right matrix that is packed and one
/// of the result whose last vector is not whole. Sapphire Rapids, Zen 3 and Zen 5, November 2026.
inline constexpr double unpacked_block = 20, unpacked_copy = 2, dot_end = 16;
inline constexpr double tile_call = 200, tile_block = 20, tile_packed_row = 11, tile_partial_row = 10;

/// Nanoseconds of work from which on sleeping threads are worth waking, and threads that are awake worth meeting. With
/// two threads both are measured; with more, what meeting costs grows with their number.
constexpr double worth_waking(int threads) noexcept { return std::max(20'000.0, 2'000.0 * threads); }
constexpr double worth_meeting(int threads) noexcept { return 1'000.0 + 1'000.0 * threads; }

}  // namespace tyto::cpu::machine
