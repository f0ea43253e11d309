// SPDX-License-Identifier: MIT
// Allocates pages by VirtualAlloc; memory of threads that end.
#include "core/system/pages.hpp"

#include <cstdint>

#include <cxxabi.h>
#include <malloc.h>

#include "core/system/windows.hpp"

namespace tyto::core {

#if defined(__GLIBCXX__)
namespace {

// Before version 16 gcc keeps thread-local objects in memory that the destructor of a key of winpthreads frees, and
// runs the objects' destructors by that of another key. A thread that ends calls these in the order in which the keys
// were made; the key of the objects is made here, before anything has asked for the memory, in a file that all programs
// that compute link.
[[gnu::constructor(101)]] void destroy_objects_before_their_memory() {
  __cxxabiv1::__cxa_thread_atexit([](void*) {}, nullptr, nullptr);
}

}  // namespace
#endif

void* map_huge_pages(std::size_t bytes) {
  // Large pages need a privilege that users rarely have, so ordinary pages are aligned instead: an aligned address is
  // found by reserving more than is needed, released and reserved again. Another thread may take it in between.
  for (int tries = 0; tries < 16; ++tries) {
    void* const found = VirtualAlloc(nullptr, bytes + huge_page, MEM_RESERVE, PAGE_NOACCESS);
    if (found == nullptr) return nullptr;
    const std::uintptr_t aligned = (reinterpret_cast<std::uintptr_t>(found) + huge_page - 1) / huge_page * huge_page;
    VirtualFree(found, 0, MEM_RELEASE);
    void* const place = reinterpret_cast<void*>(aligned);
    if (void* const memory = VirtualAlloc(place, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE)) return memory;
  }
  return nullptr;
}

void* map_code_pages(std::size_t bytes) {
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

bool make_executable(void* pages, std::size_t bytes) {
  DWORD before = 0;
  return VirtualProtect(pages, bytes, PAGE_EXECUTE_READ, &before) != 0 &&
         FlushInstructionCache(GetCurrentProcess(), pages, bytes) != 0;
}

void unmap_pages(void* pages, std::size_t) { VirtualFree(pages, 0, MEM_RELEASE); }

void discard_pages(const void* memory, std::size_t bytes) {
  SYSTEM_INFO system{};
  GetSystemInfo(&system);
  const std::uintptr_t page = system.dwPageSize;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  if (begin >= end) return;
  // This fails for pages of a mapped file, which the system reclaims by itself when memory is short.
  VirtualAlloc(reinterpret_cast<void*>(begin), end - begin, MEM_RESET, PAGE_READWRITE);
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) { return _aligned_malloc(bytes, alignment); }

void free_aligned(void* block) { _aligned_free(block); }

void trim_heap() { _heapmin(); }

}  // namespace tyto::core
