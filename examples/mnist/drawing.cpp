// SPDX-License-Identifier: MIT
// Each digit is a few strokes in the unit square; a pixel's ink follows its distance from the nearest stroke.
#include "drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>

namespace {

struct Point {
  double x;
  double y;
};
using Stroke = std::vector<Point>;
using Strokes = std::vector<Stroke>;

// Part of an ellipse, angles in parts of a full turn, clockwise from three o'clock.
Stroke arc(Point centre, double width, double height, double from, double to) {
  constexpr int pieces = 14;
  Stroke stroke;
  for (int i = 0; i <= pieces; ++i) {
    const double angle = 2 * std::numbers::pi * (from + (to - from) * i / pieces);
    stroke.push_back({centre.x + width * std::cos(angle), centre.y + height * std::sin(angle)});
  }
  return stroke;
}

Stroke joined(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const std::array<Strokes, 10>& glyphs() {
  static const std::array<Strokes, 10> all = {{
      {arc({0.5, 0.5}, 0.24, 0.38, 0, 1)},
      {{{0.38, 0.26}, {0.54, 0.12}, {0.54, 0.88}}},
      {joined(arc({0.5, 0.33}, 0.22, 0.21, 0.5, 1.08), {{0.28, 0.87}, {0.75, 0.87}})},
      {joined(arc({0.47, 0.31}, 0.21, 0.19, 0.58, 1.2), arc({0.47, 0.68}, 0.24, 0.2, -0.22, 0.42))},
      {{{0.6, 0.88}, {0.6, 0.12}, {0.25, 0.62}, {0.77, 0.62}}},
      {joined({{0.72, 0.13}, {0.35, 0.13}, {0.32, 0.46}}, arc({0.48, 0.63}, 0.24, 0.24, -0.32, 0.4))},
      {joined({{0.64, 0.1}, {0.42, 0.32}, {0.29, 0.6}}, arc({0.5, 0.66}, 0.21, 0.21, 0.5, 1.5))},
      {{{0.26, 0.14}, {0.74, 0.14}, {0.44, 0.88}}},
      {arc({0.5, 0.31}, 0.19, 0.19, 0.25, 1.25), arc({0.5, 0.69}, 0.23, 0.19, -0.25, 0.75)},
      {joined(arc({0.49, 0.34}, 0.21, 0.22, 0, 1), {{0.7, 0.34}, {0.66, 0.62}, {0.55, 0.89}})},
  }};
  return all;
}

// std::uniform_real_distribution may differ between libraries; this does not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

 private:
  std::mt19937_64 engine_;
};

double distance_to_piece(Point p, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double square = dx * dx + dy * dy;
  const double t = square > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / square, 0.0, 1.0) : 0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

// The strokes of a digit, every point moved a little, then turned, slanted, stretched and shifted, in pixels.
Strokes written(const Strokes& glyph, Random& random) {
  const double turn = random.between(-0.28, 0.28);
  const double slant = random.between(-0.3, 0.3);
  const double width = random.between(0.7, 1.1) * 24;
  const double height = random.between(0.75, 1.05) * 24;
  const double right = random.between(-2.2, 2.2);
  const double down = random.between(-2.2, 2.2);
  Strokes strokes = glyph;
  for (Stroke& stroke : strokes) {
    // Neighbouring points move together, so that curves stay curves.
    Point bend{0, 0};
    for (Point& point : stroke) {
      bend.x = 0.8 * bend.x + random.between(-0.014, 0.014);
      bend.y = 0.8 * bend.y + random.between(-0.014, 0.014);
      const double x = (point.x + bend.x - 0.5) * width + slant * (0.5 - point.y) * height;
      const double y = (point.y + bend.y - 0.5) * height;
      point = {13.5 + right + x * std::cos(turn) - y * std::sin(turn),
               13.5 + down + x * std::sin(turn) + y * std::cos(turn)};
    }
  }
  return strokes;
}

void draw(const Strokes& strokes, Random& random, std::uint8_t* pixels) {
  const double radius = random.between(0.8, 1.7);
  const double strength = random.between(200, 255);
  std::array<double, drawing_side * drawing_side> nearest;
  nearest.fill(1e9);
  for (const Stroke& stroke : strokes) {
    for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
      // Only pixels near the piece can be touched by it.
      const auto low = [&](double a, double b) { return std::max(0, static_cast<int>(std::min(a, b) - 3)); };
      const auto high = [&](double a, double b) {
        return std::min(drawing_side - 1, static_cast<int>(std::max(a, b) + 3));
      };
      const Point a = stroke[i];
      const Point b = stroke[i + 1];
      for (int row = low(a.y, b.y); row <= high(a.y, b.y); ++row) {
        for (int column = low(a.x, b.x); column <= high(a.x, b.x); ++column) {
          double& distance = nearest[static_cast<std::size_t>(row * drawing_side + column)];
          distance = std::min(distance, distance_to_piece({double(column), double(row)}, a, b));
        }
      }
    }
  }
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    const double ink = std::clamp(radius + 0.6 - nearest[i], 0.0, 1.0) * strength;
    const double noise = random.between(-14, 14);
    pixels[i] = static_cast<std::uint8_t>(std::clamp(ink + noise, 0.0, 255.0));
  }
}

}  // namespace

Drawing draw_digits(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  const auto number = static_cast<std::size_t>(count);
  constexpr std::size_t area = drawing_side * drawing_side;
  Drawing drawing{std::vector<std::uint8_t>(number * area), std::vector<std::uint8_t>(number)};
  for (std::size_t i = 0; i < number; ++i) {
    const auto digit = static_cast<std::uint8_t>(random.below(10));
    drawing.labels[i] = digit;
    draw(written(glyphs()[digit], random), random, drawing.pixels.data() + i * area);
  }
  return drawing;
}
