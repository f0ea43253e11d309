// SPDX-License-Identifier: MIT
// Epilogues of half-precision products, a tile at a time, so that what is rounded in between stays in the cache.
#include "devices/cpu/products/half_epilogues.hpp"

#include <algorithm>

#include "devices/cpu/arithmetic/half_precision.hpp"

namespace tyto::cpu {

namespace {

constexpr std::int64_t tile = 256;

struct Tile {
  DType dtype;
  float* sums;
  std::uint16_t* rounded;
  std::int64_t count;

  void round() const noexcept { narrow(sums, dtype, rounded, 1, count); }

  /// The elements from `first` on, of `columns` that repeat.
  void add(const void* from, std::int64_t first, std::int64_t stride, std::int64_t columns) const noexcept {
    float summand[tile];
    widen(dtype, rounded, 1, sums, count);
    for (std::int64_t i = 0, run = 0; i < count; i += run) {
      const std::int64_t column = (first + i) % columns;
      run = std::min(columns - column, count - i);
      widen(dtype, static_cast<const std::uint16_t*>(from) + column * stride, stride, summand + i, run);
    }
    for (std::int64_t i = 0; i < count; ++i) sums[i] += summand[i];
    round();
  }

  void limit(const Limits<float>& limits) const noexcept {
    widen(dtype, rounded, 1, sums, count);
    for (std::int64_t i = 0; i < count; ++i) sums[i] = limits(sums[i]);
    round();
  }
};

}  // namespace

void apply_half_epilogue(const HalfEpilogue& epilogue, float* sums, void* result, std::int64_t stride,
                         std::int64_t rows, std::int64_t columns) noexcept {
  const std::int64_t count = rows * columns;
  auto* const to = static_cast<std::uint16_t*>(result);
  for (std::int64_t first = 0; first < count; first += tile) {
    std::uint16_t rounded[tile];
    const Tile part{epilogue.dtype, sums + first, rounded, std::min(tile, count - first)};
    part.round();
    if (epilogue.bias != nullptr) part.add(epilogue.bias, first, 1, columns);
    if (epilogue.residual != nullptr) part.add(epilogue.residual, first, epilogue.residual_stride, count);
    if (epilogue.limits.any()) part.limit(epilogue.limits);
    for (std::int64_t i = 0; i < part.count; ++i) to[(first + i) * stride] = rounded[i];
  }
}

}  // namespace tyto::cpu
