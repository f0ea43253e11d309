// SPDX-License-Identifier: MIT
// Bounds the size of the shared cache, and models the time to move bytes.
#include "devices/cpu/system/machine.hpp"

#include "core/system/caches.hpp"

namespace tyto::cpu::machine {

std::int64_t shared_cache() noexcept {
  static const std::int64_t bytes = [] {
    constexpr std::int64_t usual = std::int64_t{32} << 20, least = usual / 4, most = usual * 2;
    const std::int64_t stated = core::last_cache_bytes();
    return stated == 0 ? usual : std::clamp(stated, least, most);
  }();
  return bytes;
}

bool come_from_memory(double bytes) noexcept { return bytes > 0.75 * static_cast<double>(shared_cache()); }

double nanoseconds_to_move(double bytes) noexcept {
  const double own = static_cast<double>(second_level_cache) / 2;
  return bytes / (bytes <= own ? own_rate : come_from_memory(bytes) ? memory_rate : shared_rate);
}

}  // namespace tyto::cpu::machine
