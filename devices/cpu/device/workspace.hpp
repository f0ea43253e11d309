// SPDX-License-Identifier: MIT
// Cuts the one workspace of a kernel into aligned parts, at prepare time; the kernel adds the base address when it
// runs.
#pragma once

#include <cstddef>
#include <vector>

namespace tyto::cpu {

/// Every part starts on a cache line, as every arena block does.
inline constexpr std::size_t workspace_alignment = 64;

/// Rounds a number of bytes up to whole cache lines.
constexpr std::size_t whole_lines(std::size_t bytes) noexcept {
  return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

/// Bytes that belong to no part.
struct WorkspaceFence {
  std::size_t begin, end;
};

class WorkspaceLayout {
 public:
  /// Bytes left free behind every part; tests ask for some, to see that a kernel writes nothing there.
  static inline std::size_t fence_bytes = 0;

  /// Offset of a new part of so many bytes.
  std::size_t reserve(std::size_t bytes) {
    const std::size_t offset = whole_lines(bytes_);
    bytes_ = offset + bytes;
    if (fence_bytes != 0) add_fence();
    return offset;
  }

  /// Offset of a new part that is cut into parts itself.
  std::size_t reserve(const WorkspaceLayout& parts) {
    const std::size_t offset = reserve(parts.bytes());
    for (const WorkspaceFence& fence : parts.fences_) fences_.push_back({offset + fence.begin, offset + fence.end});
    return offset;
  }

  /// Offset of `count` equal parts of so many bytes, one a thread; `stride` receives their distance.
  std::size_t reserve_each(std::size_t count, std::size_t bytes, std::size_t& stride) {
    stride = whole_lines(bytes) + fence_bytes;
    const std::size_t offset = whole_lines(bytes_);
    for (std::size_t part = 0; part < count; ++part) reserve(bytes);
    return offset;
  }

  std::size_t bytes() const noexcept { return bytes_; }
  const std::vector<WorkspaceFence>& fences() const noexcept { return fences_; }

 private:
  void add_fence() {
    fences_.push_back({bytes_, whole_lines(bytes_) + fence_bytes});
    bytes_ = fences_.back().end;
  }

  std::size_t bytes_ = 0;
  std::vector<WorkspaceFence> fences_;
};

template <class T>
T* at(void* workspace, std::size_t offset) noexcept {
  return reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + offset);
}

}  // namespace tyto::cpu
