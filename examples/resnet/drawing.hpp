// SPDX-License-Identifier: MIT
// Coloured pictures drawn at random, so that a machine without CIFAR-10 can train: ten classes of five shapes, each
// plain or striped, in any colour, size and place.
#pragma once

#include <cstdint>
#include <vector>

inline constexpr int drawing_side = 32;
inline constexpr int drawing_classes = 10;

struct Drawing {
  std::vector<std::uint8_t> pixels;  // count x 32 x 32 x 3
  std::vector<std::uint8_t> labels;
};

/// `count` pictures; the same for the same seed on every machine.
Drawing draw_pictures(std::int64_t count, std::uint64_t seed);
