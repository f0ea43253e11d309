// SPDX-License-Identifier: MIT
// Flushes subnormal numbers to zero; processors are up to a hundred times as slow with them.
#pragma once

#include <cstdint>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// While alive, what this thread computes on the CPU, and what other threads compute for it, has zeros in the place of
/// subnormal operands and results (f32 below 1.2e-38). Without it arithmetic is that of IEEE 754. A model from
/// elsewhere whose weights hold such numbers runs so (`OnnxOptions::keep_subnormals`).
class SubnormalsAsZeros {
 public:
  SubnormalsAsZeros();
  ~SubnormalsAsZeros();
  SubnormalsAsZeros(const SubnormalsAsZeros&) = delete;
  SubnormalsAsZeros& operator=(const SubnormalsAsZeros&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace TYTO_API
