// Writing past the caches, for results that are larger than they: memory that is written whole need not be read first,
// and what lies in the caches stays there.
#pragma once

#include "engine/core/device.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tyto::cpu {

/// Most of the result has left the caches before somebody reads it.
inline bool outgrows_caches(const core::Operand& result) {
  constexpr double bytes = 16e6;  // half of what many processors share
  return static_cast<double>(result.view.count()) * static_cast<double>(size_of(result.dtype)) >= bytes;
}

/// Other threads see what this one has written past the caches; without this they might not, whatever lock it releases.
inline void publish_uncached() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace tyto::cpu
