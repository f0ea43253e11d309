// SPDX-License-Identifier: MIT
// Host memory for tensors: aligned, counted, and recycled by size so that eager mode does not pay for fresh pages.
#pragma once

#include <cstddef>

namespace tyto::cpu {

inline constexpr std::size_t memory_alignment = 64;

struct Block {
  void* memory;
  bool zeroed;  // known to hold zeros alone, as pages that the system has just handed out do
};

/// At least `bytes` (never null, also for zero), aligned to memory_alignment; large blocks lie on huge-page borders.
/// Throws DeviceError naming the size when the system has none left.
Block allocate_memory(std::size_t bytes);
void release_memory(void* memory, std::size_t bytes);

/// Bytes handed out and not yet returned.
std::size_t allocated_memory();

/// Calls of allocate_memory so far: the difference over a planned run must be zero.
std::size_t allocation_count();

/// The same of the calling thread alone.
std::size_t thread_allocation_count();

/// Returns recycled blocks to the system.
void trim_memory();

}  // namespace tyto::cpu
