// A pool of freed blocks by size class, one mutex for all, with a thread-local cache of a few small ones; blocks above
// a few MiB ask for huge pages.
#include "devices/cpu/memory.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "tyto/error.hpp"

namespace tyto::cpu {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t pool_limit = std::size_t{256} << 20;  // freed bytes kept for reuse

// Size classes grow by a quarter of a power of two: at most 25 % is lost to rounding.
std::size_t rounded(std::size_t bytes) {
  if (bytes <= memory_alignment) return memory_alignment;
  const std::size_t step = std::max(std::bit_floor(bytes - 1) / 4, memory_alignment);
  return (bytes + step - 1) / step * step;
}

std::size_t class_of(std::size_t size) {
  const auto power = static_cast<std::size_t>(std::bit_width(size) - 1);
  return power * 4 + ((size >> (power - 2)) & 3);
}

struct Pool {
  std::mutex mutex;
  std::vector<void*> free[256];
  std::size_t free_bytes = 0;
};

// Never destroyed: tensors with static lifetime may be released after everything else.
Pool& pool() {
  static Pool* const kept = new Pool;
  return *kept;
}

std::atomic<std::size_t> live_bytes{0};
std::atomic<std::size_t> calls{0};
thread_local std::size_t calls_here = 0;

void give_to_pool(void* memory, std::size_t size) {
  Pool& kept = pool();
  {
    const std::lock_guard lock(kept.mutex);
    if (kept.free_bytes + size <= pool_limit) {
      kept.free[class_of(size)].push_back(memory);
      kept.free_bytes += size;
      return;
    }
  }
  std::free(memory);
}

/// Small blocks freed by this thread and wanted by it again: scalars and short vectors need no lock. Sanitizers do not
/// see this cache, since they could not tell a cached block from one in use.
struct ThreadCache {
  static constexpr std::size_t largest = 1024;
  static constexpr std::uint32_t most = 64;
  struct List {
    void* blocks[most];
    std::uint32_t count;
  };
  List lists[largest / memory_alignment];
};
// Pointers without a destructor, so that they can still be asked after the thread's other variables are gone. What they
// point to is on the heap: a library that keeps more than a few hundred bytes for each thread cannot be loaded by a
// program that already runs, such as Python.
thread_local constinit ThreadCache* at_hand = nullptr;
thread_local constinit bool hands_closed = false;

void empty_hands() {
  if (at_hand == nullptr) return;
  for (std::size_t i = 0; i < std::size(at_hand->lists); ++i) {
    ThreadCache::List& list = at_hand->lists[i];
    while (list.count != 0) give_to_pool(list.blocks[--list.count], (i + 1) * memory_alignment);
  }
}

struct Closing {
  ~Closing() {
    hands_closed = true;
    empty_hands();
    delete std::exchange(at_hand, nullptr);
  }
  void begin() { at_hand = new ThreadCache{}; }
};

ThreadCache::List* list_of(std::size_t size) {
#if defined(__SANITIZE_ADDRESS__)
  return nullptr;
#else
  return size <= ThreadCache::largest && at_hand != nullptr ? &at_hand->lists[size / memory_alignment - 1] : nullptr;
#endif
}

}  // namespace

void* allocate_memory(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 60)) throw DeviceError(core::text("cpu: cannot allocate ", bytes, " bytes"));
  const std::size_t size = rounded(bytes);
  calls.fetch_add(1, std::memory_order_relaxed);
  ++calls_here;
  if (ThreadCache::List* list = list_of(size); list != nullptr && list->count != 0) {
    live_bytes.fetch_add(size, std::memory_order_relaxed);
    return list->blocks[--list->count];
  }
  void* memory = nullptr;
  {
    Pool& kept = pool();
    const std::lock_guard lock(kept.mutex);
    std::vector<void*>& list = kept.free[class_of(size)];
    if (!list.empty()) {
      memory = list.back();
      list.pop_back();
      kept.free_bytes -= size;
    }
  }
  if (memory == nullptr) {
    const std::size_t alignment = size >= 2 * huge_page ? huge_page : memory_alignment;
    memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory == nullptr) {
      throw DeviceError(core::text("cpu: out of memory: ", bytes, " bytes asked for, ", allocated_memory(), " in use"));
    }
    if (alignment == huge_page) madvise(memory, size, MADV_HUGEPAGE);
  }
  live_bytes.fetch_add(size, std::memory_order_relaxed);
  return memory;
}

void release_memory(void* memory, std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  live_bytes.fetch_sub(size, std::memory_order_relaxed);
  if (at_hand == nullptr && !hands_closed) {
    thread_local Closing closing;
    closing.begin();
  }
  ThreadCache::List* list = list_of(size);
  if (list == nullptr || list->count == ThreadCache::most) {
    give_to_pool(memory, size);
    return;
  }
  list->blocks[list->count++] = memory;
}

void discard_pages(void* memory, std::size_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

std::size_t allocated_memory() { return live_bytes.load(std::memory_order_relaxed); }
std::size_t allocation_count() { return calls.load(std::memory_order_relaxed); }
std::size_t thread_allocation_count() { return calls_here; }

void trim_memory() {
  empty_hands();
  Pool& kept = pool();
  const std::lock_guard lock(kept.mutex);
  for (std::vector<void*>& list : kept.free) {
    for (void* memory : list) std::free(memory);
    list.clear();
  }
  kept.free_bytes = 0;
#if defined(__GLIBC__)
  malloc_trim(0);  // what was freed between blocks in use
#endif
}

}  // namespace tyto::cpu
