// SPDX-License-Identifier: MIT
// FoldTraversal: the order in which a reduction visits elements: by lines, columns or groups of rows, in pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device/device.hpp"
#include "devices/cpu/moves/strided_iterator.hpp"
#include "devices/cpu/reduce/fold.hpp"
#include "devices/cpu/reduce/fold_rules.hpp"
#include "devices/cpu/reduce/sorted_axes.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

/// Lines shorter than this cost more to begin than to fold.
inline constexpr std::int64_t shortest_line = 32;

/// Whether short lines are folded as columns, many at a time, even where that makes elements lie apart. The order of
/// additions depends on it.
constexpr bool taken_as_columns(std::int64_t length, std::int64_t lines) {
  return length < shortest_line && lines > 4 * length;
}

/// Depends on the shape, the strides and the type, and never on the number of threads: it settles the order of
/// additions.
struct FoldTraversal {
  /// Further facts that the order depends on.
  struct Traits {
    bool ordered = false;             ///< the folded elements are met in the order of their indices
    bool computed = false;            ///< a source computes the elements
    bool sums_lines = false;          ///< and sums them itself, line by line
    std::int64_t register_width = 0;  ///< of FoldLoops
  };

  FoldTraversal(const core::Step& step, const Traits& traits);

  /// A row of 4 KB at a time leaves room in L1 for the sums of its columns.
  static constexpr std::int64_t columns_at_once(std::int64_t element_bytes) {
    return element_bytes == 8 ? fold_columns / 2 : fold_columns;
  }
  /// Rows that are folded together.
  static constexpr std::int64_t rows_at_once = 32;

  std::int64_t element_bytes;
  FoldExtent extent;
  StridedIterator<2> outer;   // kept axes but the columns
  StridedIterator<2> around;  // folded axes but the line
  std::int64_t line = 1, line_stride = 1;
  bool in_columns = false;  // kept elements side by side are folded together, row by row
  bool index_from_start = false;
  std::int64_t width = 1, column_stride = 0, column_out = 1;
  std::int64_t chunk = 1, chunks = 1;  // columns at once
  std::int64_t pieces = 1;             // of all elements that make a result
  std::int64_t group = 1;              // rows that are taken as one
  std::int64_t source_rows = rows_at_once;
  bool even_lines = false;  // lines at equal distances, folded in one go
  std::int64_t line_distance = 0, line_out = 0;

  std::int64_t blocks() const { return outer.count() * chunks; }
  Range columns_of(std::int64_t number) const { return {number * chunk, std::min(width, (number + 1) * chunk)}; }
  /// Pieces of lines begin where vectors do.
  Range piece(std::int64_t number) const { return share(extent.count, number, pieces, in_columns ? 1 : 64); }

 private:
  void choose_columns(SortedAxes& axes);
  void choose_line(SortedAxes& axes);
  void choose_even_lines(const SortedAxes& axes, const Traits& traits);
  void choose_groups(const Traits& traits);
  void choose_pieces();
};

}  // namespace tyto::cpu
