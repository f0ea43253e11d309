// SPDX-License-Identifier: MIT
// The loops that random_loops_generator writes: what an engineer would write by hand for the random programs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tyto::bench {

struct RandomLoopArguments {
  static constexpr int most_inputs = 8, most_outputs = 4;
  /// Room for a thread's buffers of one row each; the distance keeps them apart within a page.
  static constexpr std::size_t buffer_distance = 4096 * sizeof(double) + 576, most_buffers = 24;

  const std::byte* inputs[most_inputs];
  std::byte* outputs[most_outputs];
  std::int64_t rows, columns;
};

/// Computes these rows, or, for a flat program, these elements.
using RandomLoop = void (*)(const RandomLoopArguments& at, std::byte* buffers, std::int64_t begin, std::int64_t end);

extern const std::uint64_t random_loops_seed;
extern const int random_loop_count;
extern const RandomLoop random_loops[];

}  // namespace tyto::bench
