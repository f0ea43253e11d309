// SPDX-License-Identifier: MIT
// Digits drawn by strokes under random bends, turns and thickness, so that a machine without MNIST can train.
#pragma once

#include <cstdint>
#include <vector>

struct Drawing {
  std::vector<std::uint8_t> pixels;  // count x 28 x 28, 0 for paper, 255 for ink
  std::vector<std::uint8_t> labels;
};

inline constexpr int drawing_side = 28;

/// `count` digits; the same for the same seed on every machine.
Drawing draw_digits(std::int64_t count, std::uint64_t seed);
