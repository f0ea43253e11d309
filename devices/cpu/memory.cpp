// A pool of freed blocks by size class, one mutex for all, with a thread-local cache of a few small ones; blocks above
// a few MiB ask for huge pages, those of arenas when they are used again.
#include "devices/cpu/memory.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
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
  std::vector<void*> scattered;  // large blocks that have small pages so far
};

// Never destroyed: tensors with static lifetime may be released after everything else.
Pool& pool() {
  static Pool* const kept = new Pool;
  return *kept;
}

// With the mutex held. Whether the block was one of them; from now on it is none.
bool strike_scattered(Pool& kept, void* memory) {
  const auto at = std::find(kept.scattered.begin(), kept.scattered.end(), memory);
  if (at == kept.scattered.end()) return false;
  kept.scattered.erase(at);
  return true;
}

constexpr int collapse = 25;  // MADV_COLLAPSE, since Linux 6.1; older headers do not name it

// Whether the system moves memory to huge pages when it is told to.
bool can_collapse() {
  static const bool can = [] {
    std::ifstream settings("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    if (!std::getline(settings, line) || line.find("[never]") != std::string::npos) return false;
    return madvise(nullptr, 0, collapse) == 0;
  }();
  return can;
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
    strike_scattered(kept, memory);
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

// A new block is `scattered` if it is large enough for huge pages and asks for none.
void* allocate_block(std::size_t bytes, bool scattered) {
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
    if (alignment == huge_page && !(scattered && can_collapse())) {
      madvise(memory, size, MADV_HUGEPAGE);
    } else if (alignment == huge_page) {
      Pool& kept = pool();
      const std::lock_guard lock(kept.mutex);
      kept.scattered.push_back(memory);
    }
  }
  live_bytes.fetch_add(size, std::memory_order_relaxed);
  return memory;
}

}  // namespace

void* allocate_memory(std::size_t bytes) {
  void* memory = allocate_block(bytes, false);
  if (bytes >= huge_page) gather_pages(memory, bytes);  // an arena's block that was freed
  return memory;
}

void* allocate_arena_memory(std::size_t bytes) { return allocate_block(bytes, true); }

void gather_pages(void* memory, std::size_t bytes) {
  {
    Pool& kept = pool();
    const std::lock_guard lock(kept.mutex);
    if (!strike_scattered(kept, memory)) return;
  }
  const std::size_t size = rounded(bytes);
  madvise(memory, size, MADV_HUGEPAGE);
  madvise(memory, size / huge_page * huge_page, collapse);
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
    for (void* memory : list) {
      strike_scattered(kept, memory);
      std::free(memory);
    }
    list.clear();
  }
  kept.free_bytes = 0;
#if defined(__GLIBC__)
  malloc_trim(0);  // what was freed between blocks in use
#endif
}

}  // namespace tyto::cpu
