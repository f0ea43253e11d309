// SPDX-License-Identifier: MIT
// The kernel of a loop: runs its body's program again and again, on carries that change places instead of being moved.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/device/device.hpp"
#include "engine/regions/run/region_kernel.hpp"

namespace tyto::run {

std::shared_ptr<RegionKernel> iteration_kernel(const core::Step& step, core::Device& device,
                                               const CompileOptions& options);

/// A random key as it lies in memory.
using KeyWords = std::array<std::uint64_t, 2>;

/// The key of iteration or arm `number` of a region whose draws are made of the key's draw `draw`.
KeyWords region_key(const KeyWords& key, std::int64_t draw, std::int64_t number);

}  // namespace tyto::run
