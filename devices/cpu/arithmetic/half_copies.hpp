// SPDX-License-Identifier: MIT
// f32 copies of half-precision tensors in a kernel's workspace, for kernels that compute in f32.
#pragma once

#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

/// The place of one dense f32 copy; nothing is reserved for no elements.
struct HalfCopy {
  std::size_t offset = 0;
  std::int64_t elements = 0;

  static HalfCopy reserve(WorkspaceLayout& space, std::int64_t elements) noexcept {
    return {space.reserve(static_cast<std::size_t>(elements) * sizeof(float)), elements};
  }

  float* in(void* workspace) const noexcept { return at<float>(workspace, offset); }

  /// Widens the member's share of a stored tensor into the copy.
  void load(DType type, const void* stored, void* workspace, Team team) const noexcept {
    const Range mine = share(elements, team.member, team.size, 64);
    if (mine.size() == 0) return;
    widen(type, static_cast<const std::uint16_t*>(stored) + mine.begin, 1, in(workspace) + mine.begin, mine.size());
  }

  /// Narrows the member's share of the copy into a stored tensor.
  void store(DType type, void* workspace, void* stored, Team team) const noexcept {
    const Range mine = share(elements, team.member, team.size, 64);
    if (mine.size() == 0) return;
    narrow(in(workspace) + mine.begin, type, static_cast<std::uint16_t*>(stored) + mine.begin, 1, mine.size());
  }
};

}  // namespace tyto::cpu
