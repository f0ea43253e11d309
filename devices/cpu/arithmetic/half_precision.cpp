// SPDX-License-Identifier: MIT
// Converts f16 and bf16 by the loops of conversions; elements that lie apart are gathered or scattered in blocks.
#include "devices/cpu/arithmetic/half_precision.hpp"

#include <algorithm>

#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

namespace {

constexpr std::int64_t block = 512;

}  // namespace

void widen(DType from_type, const void* from, std::int64_t stride, float* to, std::int64_t count) noexcept {
  const auto* halves = static_cast<const std::uint16_t*>(from);
  const TileLoops& loops = tile_loops(instruction_set());
  const TileLoop convert = conversion(loops, from_type, DType::f32);
  std::uint16_t dense[block];
  for (std::int64_t i = 0, step = stride == 1 ? count : block; i < count; i += step) {
    const auto n = static_cast<std::size_t>(std::min(step, count - i));
    if (stride != 1) loops.gather[1](dense, halves + i * stride, 2 * stride, n);
    convert(to + i, stride == 1 ? halves : dense, nullptr, nullptr, n);
  }
}

void narrow(const float* from, DType to_type, void* to, std::int64_t stride, std::int64_t count) noexcept {
  auto* halves = static_cast<std::uint16_t*>(to);
  const TileLoops& loops = tile_loops(instruction_set());
  const TileLoop convert = conversion(loops, DType::f32, to_type);
  std::uint16_t dense[block];
  for (std::int64_t i = 0, step = stride == 1 ? count : block; i < count; i += step) {
    const auto n = static_cast<std::size_t>(std::min(step, count - i));
    convert(stride == 1 ? halves : dense, from + i, nullptr, nullptr, n);
    if (stride != 1) loops.scatter[1](halves + i * stride, dense, 2 * stride, n);
  }
}

}  // namespace tyto::cpu
