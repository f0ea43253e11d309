// SPDX-License-Identifier: MIT
// The loops over rows of scores that attention needs between its products.
#pragma once

#include <cstdint>

#include "devices/cpu/products/tile/tile.hpp"

namespace tyto::cpu::attention {

/// Rows have room for whole vectors of any instruction set.
inline constexpr std::int64_t row_lanes = 16;

constexpr std::int64_t whole_vectors(std::int64_t count) noexcept {
  return (count + row_lanes - 1) / row_lanes * row_lanes;
}

/// Running statistics of the softmax of some rows: the greatest score of each, and the sum of exp(score - greatest).
template <class T>
struct RunningSoftmax {
  T* greatest = nullptr;
  T* total = nullptr;

  RunningSoftmax from(std::int64_t i) const noexcept { return {greatest + i, total + i}; }
};

/// Rows of scores that a tile of the product has made.
template <class T>
struct ScoreTile {
  T* scores = nullptr;
  std::int64_t pitch = 0;
  std::int64_t rows = 0;
  std::int64_t seen[tile_rows] = {};  ///< how many scores of each row count
  const T* added[tile_rows] = {};     ///< what is added to them; null: nothing
  T factors[tile_rows] = {};          ///< what sums made with the greatest before are to be multiplied by
};

/// A product of as many steps as rows, of which each row takes one more than that before it, or one less.
enum class TriangleKind { growing, shrinking };

/// sums[r][j] += the sum of left[r][s] * right[s][j] over the steps s <= r of a growing triangle, s >= r of a shrinking
/// one; whole vectors of `right` are readable.
template <class T>
struct Triangle {
  const T* left = nullptr;
  std::int64_t left_row = 0, left_step = 0;
  const T* right = nullptr;
  std::int64_t right_step = 0;
  std::int64_t columns = 0;
  T* sums = nullptr;
  std::int64_t sum_row = 0;
};

template <class T>
struct RowLoops {
  /// The numbers that a boolean mask adds to scores: 0, or minus infinity.
  void (*admit)(std::int64_t count, const bool* seen, T* numbers) = nullptr;
  /// Scores times `scale`, plus what is added, become exp(score - greatest), with the greatest of them and of all
  /// before.
  void (*soften)(ScoreTile<T>& tile, T scale, const RunningSoftmax<T>& running) = nullptr;
  /// values *= factor
  void (*scale)(std::int64_t count, T* values, T factor) = nullptr;
  /// Loops by kind of triangle and by rows - 1.
  void (*add_triangle[2][tile_rows - 1])(const Triangle<T>& triangle) = {};
  /// Concludes rows whose keys have all been seen: totals become the factors of the results, and log_sums the
  /// logarithms of the sums; of a row that saw nothing 0 and infinity.
  void (*conclude)(std::int64_t count, const RunningSoftmax<T>& rows, T* log_sums) = nullptr;
  /// Scores become weights exp(score * scale + added - log_sum), the exponents rounded as soften does, and `inner` the
  /// scores' gradient by what they were before scaling: weight * (inner - delta) * scale. Elements of log_sums and
  /// deltas belong to those of scores; all have room for whole vectors, but what is added.
  void (*differentiate)(std::int64_t count, T* scores, T* inner, const T* added, T scale, const T* log_sums,
                        const T* deltas) = nullptr;
};

/// The loops for an instruction set.
template <class T>
const RowLoops<T>& row_loops(InstructionSet set) noexcept;

TYTO_IN_EACH_SET(template <class T> const RowLoops<T>& row_loops() noexcept;)

}  // namespace tyto::cpu::attention
