// SPDX-License-Identifier: MIT
// The sizes of the processor's caches, as the system states them.
#pragma once

#include <cstdint>

namespace tyto::core {

/// Bytes of the last cache that the first processor has, alone or with others; 0 where the system does not say.
std::int64_t last_cache_bytes();

}  // namespace tyto::core
