// The kernel of a loop: its body's program run again and again, on carries that change places instead of being moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.hpp"
#include "engine/execution/executable.hpp"

namespace tyto::run {

std::shared_ptr<const core::Kernel> iteration_kernel(const core::Step& step, const CompileOptions& options);

/// The key of iteration or arm `number` of a region whose draws are made of the key's draw `draw`.
void write_region_key(const std::byte* key, std::int64_t draw, std::int64_t number, std::byte* target);

}  // namespace tyto::run
