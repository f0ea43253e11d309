// SPDX-License-Identifier: MIT
// Allocates pages by mmap.
#include "core/system/pages.hpp"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace tyto::core {

namespace {

void* map_pages(std::size_t bytes) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

}  // namespace

void* map_huge_pages(std::size_t bytes) {
  const std::size_t reserved = bytes + huge_page;
  void* const found = map_pages(reserved);
  if (found == nullptr) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(found);
  const std::uintptr_t aligned = (begin + huge_page - 1) / huge_page * huge_page;
  auto* const memory = reinterpret_cast<std::byte*>(aligned);
  if (aligned != begin) munmap(found, aligned - begin);
  munmap(memory + bytes, begin + reserved - (aligned + bytes));
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

void* map_code_pages(std::size_t bytes) { return map_pages(bytes); }

bool make_executable(void* pages, std::size_t bytes) {
  // Some processors, those of Arm among them, read instructions from a cache that does not see what was written.
  auto* const begin = static_cast<char*>(pages);
  __builtin___clear_cache(begin, begin + bytes);
  return mprotect(pages, bytes, PROT_READ | PROT_EXEC) == 0;
}

void unmap_pages(void* pages, std::size_t bytes) { munmap(pages, bytes); }

void discard_pages(const void* memory, std::size_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) { return std::aligned_alloc(alignment, bytes); }

void free_aligned(void* block) { std::free(block); }

void trim_heap() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace tyto::core
