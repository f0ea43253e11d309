// SPDX-License-Identifier: MIT
// Epilogues of half-precision products, row by row.
#include "devices/cpu/products/half_epilogues.hpp"

#include <algorithm>
#include <utility>

#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"

namespace tyto::cpu {

void apply_half_epilogue(const HalfEpilogue& epilogue, const float* sums, void* result, std::int64_t stride,
                         std::int64_t rows, std::int64_t columns) noexcept {
  const InstructionSet set = instruction_set();
  const HalfEpilogueLoops loops = half_epilogue_loops(set);
  const auto end_row = epilogue.dtype == DType::f16 ? loops.f16 : loops.bf16;
  const auto* const bias = static_cast<const std::uint16_t*>(epilogue.bias);
  if (bias == nullptr) columns *= std::exchange(rows, 1);
  // Elements that lie apart are gathered and scattered.
  constexpr std::int64_t tile = 256;
  const std::int64_t step = stride == 1 ? columns : tile;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; column += step) {
      const std::int64_t first = row * columns + column, count = std::min(step, columns - column);
      const auto n = static_cast<std::size_t>(count);
      auto* const to = static_cast<std::uint16_t*>(result) + first * stride;
      const auto* residual = static_cast<const std::uint16_t*>(epilogue.residual);
      if (residual != nullptr) residual += first * stride;
      std::uint16_t gathered[tile], ended[tile];
      if (residual != nullptr && stride != 1) {
        tile_loops(set).gather[1](gathered, residual, 2 * stride, n);
        residual = gathered;
      }
      end_row(sums + first, bias == nullptr ? nullptr : bias + column, residual, epilogue.limits,
              stride == 1 ? to : ended, count);
      if (stride != 1) tile_loops(set).scatter[1](to, ended, 2 * stride, n);
    }
  }
}

}  // namespace tyto::cpu
