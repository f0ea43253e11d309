// SPDX-License-Identifier: MIT
// Memory from the operating system: whole pages, and aligned blocks of the heap.
#pragma once

#include <cstddef>

namespace tyto::core {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Zeroed pages, at a multiple of `huge_page` and on huge pages where the system has them; null where there are none.
void* map_huge_pages(std::size_t bytes);
/// Zeroed pages that can be written, for code; null where there are none.
void* map_code_pages(std::size_t bytes);
/// Ends writing to such pages and lets them be run; false where the system forbids it.
bool make_executable(void* pages, std::size_t bytes);
void unmap_pages(void* pages, std::size_t bytes);
/// Returns the pages that lie wholly within a part of memory to the system; their contents are lost, or come from the
/// file that they map.
void discard_pages(const void* memory, std::size_t bytes);

/// A block of the heap at a multiple of `alignment`, of which `bytes` is one; null where there is none.
void* allocate_aligned(std::size_t alignment, std::size_t bytes);
void free_aligned(void* block);
/// Returns memory that was freed between blocks in use to the system.
void trim_heap();

}  // namespace tyto::core
