// SPDX-License-Identifier: MIT
// Finds arrays by their bytes. What they were computed from is no key: it may be written or freed meanwhile.
#include "engine/run/shared_arrays.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/run/arrays.hpp"

namespace tyto::run {

namespace {

// The table is keyed by a hash of so many bytes, since weights that differ rarely begin alike. Arrays of fewer bytes
// are not shared: that would save little memory.
constexpr std::size_t beginning = 4096;

struct SharedBuffer {
  std::weak_ptr<core::Buffer> buffer;
  std::uint64_t number = 0;
};

struct SharedBuffers {
  std::mutex mutex;
  std::unordered_multimap<std::size_t, SharedBuffer> of_beginning;
  std::uint64_t next_number = 0;
  std::size_t swept_at = 64;  // entries: those of buffers that are gone go then
};

// Never destroyed: graphs of static lifetime may go while the process ends.
SharedBuffers& shared_buffers() {
  static SharedBuffers* const all = new SharedBuffers;
  return *all;
}

// Under the lock.
void insert(SharedBuffers& all, std::size_t key, const core::BufferRef& buffer) {
  if (all.of_beginning.size() >= all.swept_at) {
    std::erase_if(all.of_beginning, [](const auto& entry) { return entry.second.buffer.expired(); });
    all.swept_at = std::max<std::size_t>(64, 2 * all.of_beginning.size());
  }
  all.of_beginning.emplace(key, SharedBuffer{buffer, all.next_number++});
}

}  // namespace

core::Array shared_array(core::Array made) {
  const std::size_t bytes = byte_count(made.dtype, made.view.shape);
  if (bytes < beginning || made.buffer->bytes() != bytes) return made;
  const void* const contents = made.buffer->memory();
  const std::size_t key = std::hash<std::string_view>()({static_cast<const char*>(contents), beginning});
  SharedBuffers& all = shared_buffers();
  // Whole arrays are compared without the lock. Then those are looked at that other threads have put in meanwhile.
  for (std::uint64_t since = 0;;) {
    std::vector<core::BufferRef> candidates;
    {
      const std::lock_guard lock(all.mutex);
      const auto [first, last] = all.of_beginning.equal_range(key);
      for (auto each = first; each != last; ++each) {
        if (each->second.number < since) continue;
        if (core::BufferRef known = each->second.buffer.lock()) candidates.push_back(std::move(known));
      }
      since = all.next_number;
      if (candidates.empty()) {
        made.buffer->set_read_only();
        insert(all, key, made.buffer);
        return made;
      }
    }
    for (core::BufferRef& known : candidates) {
      if (known->bytes() != bytes || std::memcmp(known->memory(), contents, bytes) != 0) continue;
      made.buffer = std::move(known);
      return made;
    }
  }
}

}  // namespace tyto::run
