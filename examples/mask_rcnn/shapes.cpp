// SPDX-License-Identifier: MIT
// Shapes over each other on a gradient of colours, with noise.
#include "shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <tyto/nn/transforms.hpp>
#include <vector>

namespace {

using Colour = std::array<double, 3>;

// Inside of a shape of radius 1 round the origin.
bool covers(std::int64_t kind, double x, double y) {
  switch (kind) {
    case 0: return std::hypot(x, y) < 1;
    case 1: return std::max(std::abs(x), std::abs(y)) < 0.8;
    default: return y < 0.6 && 0.87 * x - 0.5 * y < 0.6 && -0.87 * x - 0.5 * y < 0.6;
  }
}

Colour colour(tyto::nn::Draws& draws) { return {draws.uniform(0, 255), draws.uniform(0, 255), draws.uniform(0, 255)}; }

double distance(const Colour& a, const Colour& b) { return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

void draw(tyto::nn::Draws draws, std::byte* picture, std::byte* seen) {
  constexpr auto pixels = static_cast<std::size_t>(shapes_side * shapes_side);
  std::array<double, pixels * 3> values;
  const Colour from = colour(draws), to = colour(draws);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double down = static_cast<double>(i / 3) / static_cast<double>(pixels);
    values[i] = from[i % 3] * (1 - down) + to[i % 3] * down;
  }
  std::fill(seen, seen + pixels, std::byte{0});
  const std::int64_t count = 1 + draws.below(shapes_most);
  std::array<double, shapes_most> sizes{};
  for (std::int64_t object = 0; object < count; ++object) {
    const std::int64_t kind = draws.below(shapes_classes);
    const double radius = draws.uniform(9, 24), turn = draws.uniform(0, 2 * std::numbers::pi);
    const double centre_x = draws.uniform(radius, shapes_side - radius),
                 centre_y = draws.uniform(radius, shapes_side - radius);
    Colour ink = colour(draws);
    while (distance(ink, from) < 60 || distance(ink, to) < 60) ink = colour(draws);
    std::vector<std::size_t> covered;
    for (std::size_t i = 0; i < pixels; ++i) {
      const double right = static_cast<double>(i % shapes_side) + 0.5 - centre_x;
      const double down = static_cast<double>(i / shapes_side) + 0.5 - centre_y;
      const double x = (right * std::cos(turn) + down * std::sin(turn)) / radius;
      const double y = (down * std::cos(turn) - right * std::sin(turn)) / radius;
      if (covers(kind, x, y)) covered.push_back(i);
    }
    // Shapes that would hide too much of another one are left out.
    bool hides = false;
    for (std::int64_t other = 0; other < object; ++other) {
      const auto is_other = [&](std::byte pixel) {
        return pixel != std::byte{0} && (static_cast<std::int64_t>(pixel) - 1) / shapes_classes == other;
      };
      const auto hidden = std::count_if(covered.begin(), covered.end(), [&](auto i) { return is_other(seen[i]); });
      const auto left = static_cast<double>(std::count_if(seen, seen + pixels, is_other) - hidden);
      hides = hides || left < 0.6 * sizes[static_cast<std::size_t>(other)];
    }
    if (hides) continue;
    sizes[static_cast<std::size_t>(object)] = static_cast<double>(covered.size());
    for (const std::size_t i : covered) {
      seen[i] = static_cast<std::byte>(1 + shapes_classes * object + kind);
      for (std::size_t channel = 0; channel < 3; ++channel) values[3 * i + channel] = ink[channel];
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    picture[i] = static_cast<std::byte>(std::clamp(values[i] + draws.uniform(-12, 12), 0.0, 255.0));
  }
}

}  // namespace

tyto::nn::HostBatch Shapes::read(std::span<const std::int64_t> samples, const tyto::Key& key) const {
  constexpr std::size_t pixels = shapes_side * shapes_side;
  const auto rows = static_cast<std::int64_t>(samples.size());
  tyto::nn::HostBatch batch{{tyto::DType::u8, {rows, shapes_side, shapes_side, 3}, {}},
                            {tyto::DType::u8, {rows, shapes_side, shapes_side}, {}}};
  batch.inputs.bytes.resize(samples.size() * pixels * 3);
  batch.targets.bytes.resize(samples.size() * pixels);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    draw(tyto::nn::Draws(key.split(static_cast<std::uint64_t>(samples[i]))), batch.inputs.bytes.data() + i * pixels * 3,
         batch.targets.bytes.data() + i * pixels);
  }
  return batch;
}
