// SPDX-License-Identifier: MIT
// Shapes as functions of the distance from their outline, over a background of another colour, with noise.
#include "drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>

namespace {

using Colour = std::array<double, 3>;

// std::uniform_real_distribution may differ between libraries; this does not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  Colour colour() { return {between(0, 255), between(0, 255), between(0, 255)}; }

 private:
  std::mt19937_64 engine_;
};

// Negative inside of the shape, positive outside; x and y in units of the shape's size.
double distance(std::uint64_t shape, double x, double y) {
  const double radius = std::hypot(x, y);
  switch (shape) {
    case 0: return radius - 1;                                 // disc
    case 1: return std::max(std::abs(x), std::abs(y)) - 0.85;  // square
    case 2: return std::abs(radius - 0.8) - 0.25;              // ring
    case 3:
      return std::min(std::max(std::abs(x) - 0.3, std::abs(y) - 1),  // cross
                      std::max(std::abs(y) - 0.3, std::abs(x) - 1));
    default: return std::max({y - 0.6, 0.87 * x - 0.5 * y - 0.6, -0.87 * x - 0.5 * y - 0.6});  // triangle
  }
}

double brightness(const Colour& colour) { return 0.3 * colour[0] + 0.6 * colour[1] + 0.1 * colour[2]; }

void draw(std::uint64_t label, Random& random, std::uint8_t* pixels) {
  const std::uint64_t shape = label / 2;
  const bool striped = label % 2 == 1;
  const Colour background = random.colour();
  Colour ink = random.colour();
  while (std::abs(brightness(ink) - brightness(background)) < 50) ink = random.colour();
  const double size = random.between(7, 12);
  const double centre_x = random.between(12, 20), centre_y = random.between(12, 20);
  const double turn = random.between(-0.4, 0.4);
  const double slant = random.between(0, std::numbers::pi), phase = random.between(0, 6);
  const double noise = random.between(5, 25);
  for (int row = 0; row < drawing_side; ++row) {
    for (int column = 0; column < drawing_side; ++column) {
      const double right = column - centre_x, down = row - centre_y;
      const double x = (right * std::cos(turn) - down * std::sin(turn)) / size;
      const double y = (right * std::sin(turn) + down * std::cos(turn)) / size;
      double part = std::clamp(0.5 - distance(shape, x, y) * size, 0.0, 1.0);
      if (striped && std::sin((right * std::cos(slant) + down * std::sin(slant)) * 1.6 + phase) > 0.2) part = 0;
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const double value = part * ink[channel] + (1 - part) * background[channel] + random.between(-noise, noise);
        *pixels++ = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
      }
    }
  }
}

}  // namespace

Drawing draw_pictures(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  const auto number = static_cast<std::size_t>(count);
  constexpr std::size_t size = drawing_side * drawing_side * 3;
  Drawing drawing{std::vector<std::uint8_t>(number * size), std::vector<std::uint8_t>(number)};
  for (std::size_t i = 0; i < number; ++i) {
    const std::uint64_t label = random.below(drawing_classes);
    drawing.labels[i] = static_cast<std::uint8_t>(label);
    draw(label, random, drawing.pixels.data() + i * size);
  }
  return drawing;
}
