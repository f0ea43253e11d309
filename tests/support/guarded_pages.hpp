// SPDX-License-Identifier: MIT
// Operands that end at the last byte of mapped memory.
#pragma once

#include <doctest/doctest.h>
#if defined(_WIN32)
#include <windows.h>
#undef near
#undef far
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <cstdint>

namespace tyto::testing {

/// Pages with a guard page behind them: touching what lies behind end() is a fault.
class GuardedPages {
 public:
#if defined(_WIN32)
  explicit GuardedPages(std::size_t bytes) : page_(4096), size_((bytes + page_ - 1) / page_ * page_ + page_) {
    memory_ = static_cast<std::byte*>(VirtualAlloc(nullptr, size_, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
    REQUIRE(memory_ != nullptr);
    DWORD before = 0;
    REQUIRE(VirtualProtect(memory_ + size_ - page_, page_, PAGE_NOACCESS, &before) != 0);
  }
  ~GuardedPages() { VirtualFree(memory_, 0, MEM_RELEASE); }
#else
  explicit GuardedPages(std::size_t bytes)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), size_((bytes + page_ - 1) / page_ * page_ + page_) {
    void* const mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    memory_ = static_cast<std::byte*>(mapped);
    REQUIRE(mprotect(memory_ + size_ - page_, page_, PROT_NONE) == 0);
  }
  ~GuardedPages() { munmap(memory_, size_); }
#endif
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;
  std::byte* end() const { return memory_ + size_ - page_; }

 private:
  std::size_t page_, size_;
  std::byte* memory_;
};

/// `count` elements that end where memory does.
template <class T>
class AtTheEnd {
 public:
  explicit AtTheEnd(std::int64_t count)
      : pages_(static_cast<std::size_t>(count) * sizeof(T)), data_(reinterpret_cast<T*>(pages_.end()) - count) {}
  T* data() const { return data_; }

 private:
  GuardedPages pages_;
  T* data_;
};

}  // namespace tyto::testing
