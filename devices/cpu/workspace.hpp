// Cuts the one workspace of a kernel into aligned parts, at prepare time; the kernel adds the base address when it
// runs.
#pragma once

#include <cstddef>

namespace tyto::cpu {

/// Every part starts on a cache line, as every arena block does.
inline constexpr std::size_t workspace_alignment = 64;

class WorkspaceLayout {
 public:
  /// Offset of a new part of so many bytes.
  std::size_t reserve(std::size_t bytes) noexcept {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    return offset;
  }

  /// Offset of `count` equal parts of so many bytes, one a thread; `stride` receives their distance.
  std::size_t reserve_each(std::size_t count, std::size_t bytes, std::size_t& stride) noexcept {
    stride = (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    return reserve(stride * count);
  }

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

template <class T>
T* at(void* workspace, std::size_t offset) noexcept {
  return reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + offset);
}

}  // namespace tyto::cpu
