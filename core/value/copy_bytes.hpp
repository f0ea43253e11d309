// SPDX-License-Identifier: MIT
// Copies memory that does not overlap, at full speed wherever it lies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tyto::core {

/// Copies `bytes` bytes. From a few KiB on, C libraries leave copies to `rep movsb`, which takes ten times as long on
/// some processors (AMD Zen 3 and 4) where the target lies less than a cache line after the source modulo 4 KiB, as in
/// a vector rolled by one. Such copies go in pieces below any library's threshold, unless they are so long that it
/// takes non-temporal stores.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t page = 4096, cache_line = 64, piece = 2048, very_long = std::size_t{2} << 20;
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const std::size_t ahead =
      (reinterpret_cast<std::uintptr_t>(target) - reinterpret_cast<std::uintptr_t>(source)) % page;
  const std::size_t whole = ahead != 0 && ahead < cache_line && bytes < very_long ? piece : bytes;
  while (bytes > whole) {
    std::memcpy(target, source, whole);
    target += whole;
    source += whole;
    bytes -= whole;
  }
  if (bytes != 0) std::memcpy(target, source, bytes);
}

}  // namespace tyto::core
