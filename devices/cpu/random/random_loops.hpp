// SPDX-License-Identifier: MIT
// The compiled loops of the random distributions: runs of elements of a Philox stream, for each instruction set.
//
// Element i depends on the key, the draw and i alone, never on how the work is divided.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cpu/system/each_set.hpp"

namespace tyto::cpu {

/// Which numbers are drawn, and the distribution's parameters as the operator names them.
struct RandomStream {
  std::uint64_t seed;
  std::uint64_t draw;
  double first;
  double second;
};

/// Elements that a loop makes at once at most; runs start at multiples of it.
inline constexpr std::size_t random_run = 256;

/// out[j] = element index + j of the stream, for j < n; `out` has room for random_run elements.
using RandomLoop = void (*)(void* out, const RandomStream& stream, std::uint64_t index, std::size_t n);

struct RandomLoops {
  RandomLoop words;      ///< u64: words 0 (high) and 1 (low) of block i
  RandomLoop integers;   ///< i64: first <= x < second
  RandomLoop bernoulli;  ///< bytes 0 or 1
  RandomLoop uniform_f32, uniform_f64;
  RandomLoop normal_f32, normal_f64;
  RandomLoop truncated_normal_f32, truncated_normal_f64;
  RandomLoop exponential_f32, exponential_f64;
  RandomLoop gamma_f64;
};

TYTO_IN_EACH_SET(extern const RandomLoops random_loops;)

/// The loops for an instruction set.
const RandomLoops& random_loops(InstructionSet set) noexcept;

}  // namespace tyto::cpu
