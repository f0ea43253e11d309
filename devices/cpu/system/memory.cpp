// SPDX-License-Identifier: MIT
// A pool of freed blocks by size class, one mutex for all, with a thread-local cache of a few small ones; blocks above
// a few MiB are pages of their own, huge ones where the system has them.
#include "devices/cpu/system/memory.hpp"

#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "core/system/pages.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::cpu {

namespace {

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

// Blocks of this size and more lie on huge pages. They are mapped, not taken from the heap, so their pages are known to
// hold zeros at first; but a sanitizer watches the heap's borders.
constexpr std::size_t large_size = 2 * core::huge_page;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool large_are_mapped = false;
#else
constexpr bool large_are_mapped = true;
#endif

Block take_from_system(std::size_t size) {
  if (large_are_mapped && size >= large_size) return {core::map_huge_pages(size), true};
  const std::size_t alignment = size >= large_size ? core::huge_page : memory_alignment;
  return {core::allocate_aligned(alignment, (size + alignment - 1) / alignment * alignment), false};
}

void give_to_system(void* memory, std::size_t size) {
  if (large_are_mapped && size >= large_size) {
    core::unmap_pages(memory, size);
  } else {
    core::free_aligned(memory);
  }
}

struct Pool {
  struct Class {
    std::vector<void*> blocks;
    std::size_t size = 0;        // of each
    std::uint64_t last_use = 0;  // on the pool's clock
  };
  std::mutex mutex;
  Class classes[256];
  std::size_t free_bytes = 0;
  std::uint64_t clock = 0;  // large blocks taken and given back

  /// Takes blocks out of the pool until `size` more bytes fit, those wanted least recently first, but none of a size
  /// that is in use: sizes that take turns would push each other out. They may not fit in the end.
  std::vector<std::pair<void*, std::size_t>> make_room(std::size_t size) {
    constexpr std::uint64_t in_use = 64;
    std::vector<std::pair<void*, std::size_t>> evicted;
    while (free_bytes + size > pool_limit) {
      Class* oldest = nullptr;
      for (Class& each : classes) {
        if (each.blocks.empty() || each.last_use + in_use > clock) continue;
        if (oldest == nullptr || each.last_use < oldest->last_use) oldest = &each;
      }
      if (oldest == nullptr) break;
      for (; !oldest->blocks.empty() && free_bytes + size > pool_limit; free_bytes -= oldest->size) {
        evicted.emplace_back(oldest->blocks.back(), oldest->size);
        oldest->blocks.pop_back();
      }
    }
    return evicted;
  }

  void note_use(Class& used, std::size_t size) { used.last_use = size >= large_size ? ++clock : clock; }
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
  if (size > pool_limit) return give_to_system(memory, size);
  Pool& kept = pool();
  std::vector<std::pair<void*, std::size_t>> unwanted;
  {
    const std::lock_guard lock(kept.mutex);
    Pool::Class& mine = kept.classes[class_of(size)];
    kept.note_use(mine, size);
    if (size >= large_size) unwanted = kept.make_room(size);
    if (kept.free_bytes + size <= pool_limit) {
      mine.blocks.push_back(memory);
      mine.size = size;
      kept.free_bytes += size;
    } else {
      unwanted.emplace_back(memory, size);
    }
  }
  for (const auto& [block, bytes] : unwanted) give_to_system(block, bytes);
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

ThreadCache::List* list_of([[maybe_unused]] std::size_t size) {
#if defined(__SANITIZE_ADDRESS__)
  return nullptr;
#else
  return size <= ThreadCache::largest && at_hand != nullptr ? &at_hand->lists[size / memory_alignment - 1] : nullptr;
#endif
}

}  // namespace

Block allocate_memory(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 60)) core::throw_error<DeviceError>("cpu: cannot allocate ", bytes, " bytes");
  const std::size_t size = rounded(bytes);
  calls.fetch_add(1, std::memory_order_relaxed);
  ++calls_here;
  if (ThreadCache::List* list = list_of(size); list != nullptr && list->count != 0) {
    live_bytes.fetch_add(size, std::memory_order_relaxed);
    return {list->blocks[--list->count], false};
  }
  Block block{nullptr, false};
  {
    Pool& kept = pool();
    const std::lock_guard lock(kept.mutex);
    Pool::Class& wanted = kept.classes[class_of(size)];
    if (!wanted.blocks.empty()) {
      block.memory = wanted.blocks.back();
      wanted.blocks.pop_back();
      kept.note_use(wanted, size);
      kept.free_bytes -= size;
    }
  }
  if (block.memory == nullptr) {
    block = take_from_system(size);
    if (block.memory == nullptr) {
      core::throw_error<DeviceError>("cpu: out of memory: ", bytes, " bytes asked for, ", allocated_memory(),
                                     " in use");
    }
  }
  live_bytes.fetch_add(size, std::memory_order_relaxed);
  return block;
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

std::size_t allocated_memory() { return live_bytes.load(std::memory_order_relaxed); }
std::size_t allocation_count() { return calls.load(std::memory_order_relaxed); }
std::size_t thread_allocation_count() { return calls_here; }

void trim_memory() {
  empty_hands();
  Pool& kept = pool();
  const std::lock_guard lock(kept.mutex);
  for (Pool::Class& each : kept.classes) {
    for (void* memory : each.blocks) give_to_system(memory, each.size);
    each.blocks.clear();
  }
  kept.free_bytes = 0;
  core::trim_heap();
}

}  // namespace tyto::cpu
