// SPDX-License-Identifier: MIT
// Views the operands of attention as stacks of matrices, and packs and converts rows of them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/device/device.hpp"
#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/products/attention/row_loops.hpp"
#include "devices/cpu/products/tile/panel_product.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu::attention {

/// The kernels go over the scores in blocks of so many rows.
inline constexpr std::int64_t block_rows = 32 * tile_rows;

/// Columns of a block, in whole panels: `tile_bytes` of each, its scores by a tile of rows, stay in the first-level
/// cache, and `bytes` of each, what its scores are made of and go into, in the second-level one.
constexpr std::int64_t block_columns(std::int64_t tile_bytes, std::int64_t bytes, std::int64_t width) noexcept {
  const std::int64_t most =
      std::min(machine::first_level_cache / 2 / tile_bytes, machine::second_level_cache / 2 / bytes);
  return std::max(most / width, std::int64_t{1}) * width;
}

/// One call as a thread sees it, with its own part of the workspace.
struct Call {
  Addresses inputs, outputs;
  std::byte* space;

  const std::byte* input(std::size_t i) const noexcept { return inputs[i].pointer(); }
  std::byte* output(std::size_t i) const noexcept { return outputs[i].pointer(); }
};

/// A stack of matrices: where each starts, in elements from the operand's address, and the strides within it.
struct MatrixStack {
  DType dtype = DType::f32;
  std::vector<std::int64_t> starts;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 1;

  /// `view` holds matrices in its last two axes, or, with `vectors`, rows of one column each in its last.
  static MatrixStack of(const core::Operand& operand, bool vectors = false);

  /// Whether tiles can read it where it lies: not what is stored in half precision. Dot products read `dense` rows,
  /// whose elements lie side by side.
  bool is_readable(bool dense = false) const noexcept { return !is_half(dtype) && (!dense || column_stride == 1); }
  template <class E>
  E* at(std::byte* base, std::int64_t matrix, std::int64_t row = 0) const noexcept {
    return reinterpret_cast<E*>(base) + starts[static_cast<std::size_t>(matrix)] + row * row_stride;
  }
  template <class E>
  const E* at(const std::byte* base, std::int64_t matrix, std::int64_t row = 0) const noexcept {
    return at<E>(const_cast<std::byte*>(base), matrix, row);
  }
};

/// Rows that tiles can read: in place, widened or copied.
template <class T>
struct ReadableRows {
  const T* base = nullptr;
  std::int64_t row_stride = 0, column_stride = 1;

  const T* row(std::int64_t i) const noexcept { return base + i * row_stride; }
  ReadableRows from(std::int64_t i) const noexcept { return {row(i), row_stride, column_stride}; }
  /// The right operand with these rows as its columns.
  PanelSource<T> transposed(std::int64_t first_row) const noexcept {
    return {row(first_row), nullptr, column_stride, row_stride};
  }
  /// The right operand with these rows as its rows.
  PanelSource<T> plain(std::int64_t first_row) const noexcept {
    return {row(first_row), nullptr, row_stride, column_stride};
  }
};

/// Rows [first, first + count) of one matrix, `dense` ones if need be, in `copy` where they are not readable.
template <class T>
ReadableRows<T> readable_rows(const MatrixStack& stack, const std::byte* base, std::int64_t matrix, std::int64_t first,
                              std::int64_t count, T* copy, bool dense = false) noexcept {
  if (stack.is_readable(dense)) return {stack.at<T>(base, matrix, first), stack.row_stride, stack.column_stride};
  if (!is_half(stack.dtype)) {
    const CopyBlock block{count, stack.columns, stack.row_stride, stack.column_stride, stack.columns, 1};
    copy_function(block, sizeof(T))(reinterpret_cast<const std::byte*>(stack.at<T>(base, matrix, first)),
                                    reinterpret_cast<std::byte*>(copy), block);
  } else if constexpr (sizeof(T) == sizeof(float)) {
    for (std::int64_t i = 0; i < count; ++i) {
      widen(stack.dtype, stack.at<std::uint16_t>(base, matrix, first + i), stack.column_stride,
            copy + i * stack.columns, stack.columns);
    }
  }
  return {copy, stack.columns, 1};
}

/// Whether scores are dot products of rows where they lie: packing the keys of so few queries costs as much as using
/// them. The number of queries and the type decide, nothing else: the kernel and its gradient must add up scores in the
/// same order, and strides must not change a bit.
inline bool scores_by_dots(const MatrixStack& queries) noexcept {
  return queries.rows <= dot_rows && !is_half(queries.dtype);
}

/// The scores of queries, at most dot_rows, and keys, both dense rows: their products, so many elements apart by query
/// and by key.
template <class T>
void dot_scores(const TileSet<T>& tiles, const ReadableRows<T>& queries, std::int64_t query_count,
                const ReadableRows<T>& keys, std::int64_t key_count, std::int64_t features, T* scores,
                std::int64_t query_step, std::int64_t key_step) noexcept {
  const T* addresses[dot_rows];
  std::int64_t offsets[dot_rows];
  for (std::int64_t i = 0; i < query_count; ++i) {
    addresses[i] = queries.row(i);
    offsets[i] = i * query_step;
  }
  DotArguments<T> dots;
  dots.rows = addresses;
  dots.row_count = static_cast<int>(query_count);
  dots.c_step = key_step;
  dots.b = keys.base;
  dots.b_step = keys.row_stride;
  dots.steps = features;
  dots.columns = key_count;
  dots.c = scores;
  dots.c_offsets = offsets;
  tiles.dots(dots);
}

/// Rows of a result, added up where they go, or in `copy` where they are of half precision or lie apart.
template <class T>
class ResultRows {
 public:
  static bool in_place(const MatrixStack& stack) noexcept { return stack.is_readable() && stack.column_stride == 1; }
  /// Elements of the copy.
  static std::int64_t workspace_elements(const MatrixStack& stack, std::int64_t rows) noexcept {
    return in_place(stack) ? 0 : rows * stack.columns;
  }

  ResultRows(const MatrixStack& stack, std::byte* base, std::int64_t matrix, std::int64_t first, T* copy) noexcept
      : stack_(stack), base_(base), matrix_(matrix), first_(first) {
    rows_ = in_place(stack) ? stack.at<T>(base, matrix, first) : copy;
    pitch_ = in_place(stack) ? stack.row_stride : stack.columns;
  }

  T* row(std::int64_t i) const noexcept { return rows_ + i * pitch_; }
  std::int64_t pitch() const noexcept { return pitch_; }
  void clear(std::int64_t count) const noexcept {
    for (std::int64_t i = 0; i < count; ++i) std::fill_n(row(i), stack_.columns, T(0));
  }
  /// Brings the copy, if there is one, to where the result is.
  void store(std::int64_t count) const noexcept {
    if (in_place(stack_)) return;
    for (std::int64_t i = 0; i < count; ++i) {
      if (stack_.is_readable()) {
        T* const to = stack_.at<T>(base_, matrix_, first_ + i);
        for (std::int64_t j = 0; j < stack_.columns; ++j) to[j * stack_.column_stride] = row(i)[j];
      } else if constexpr (sizeof(T) == sizeof(float)) {
        narrow(row(i), stack_.dtype, stack_.at<std::uint16_t>(base_, matrix_, first_ + i), stack_.column_stride,
               stack_.columns);
      }
    }
  }

 private:
  const MatrixStack& stack_;
  std::byte* base_;
  std::int64_t matrix_, first_, pitch_;
  T* rows_;
};

/// Rows of a mask, whose elements lie side by side: in place, or copied.
template <class T>
class MaskRows {
 public:
  /// `rows` x `columns` elements from (first_row, first_column) on. `copy` has room for as many rows of `pitch`
  /// elements, and for one more, as numbers.
  MaskRows(const MatrixStack& mask, const std::byte* base, std::int64_t matrix, std::int64_t first_row,
           std::int64_t rows, std::int64_t first_column, std::int64_t columns, T* copy, std::int64_t pitch) noexcept
      : is_boolean_(mask.dtype == DType::boolean), pitch_(pitch), numbers_(copy + rows * pitch) {
    const auto element = static_cast<std::int64_t>(size_of(mask.dtype));
    const std::int64_t start =
        mask.starts[static_cast<std::size_t>(matrix)] + first_row * mask.row_stride + first_column * mask.column_stride;
    base_ = base + start * element;
    row_bytes_ = mask.row_stride * element;
    if (mask.column_stride == 1) return;
    const CopyBlock block{rows, columns, mask.row_stride, mask.column_stride, pitch, 1};
    auto* const to = reinterpret_cast<std::byte*>(copy);
    copy_function(block, static_cast<std::size_t>(element))(base_, to, block);
    base_ = to;
    row_bytes_ = pitch * element;
  }

  /// The `count` elements of a row from `first` on that are added to scores, while rows of its tile are read.
  const T* added(const RowLoops<T>& loops, std::int64_t row, std::int64_t first, std::int64_t count) const noexcept {
    const std::byte* const from = base_ + row * row_bytes_;
    if (!is_boolean_) return reinterpret_cast<const T*>(from) + first;
    T* const numbers = numbers_ + row % tile_rows * pitch_;
    loops.admit(count, reinterpret_cast<const bool*>(from) + first, numbers);
    return numbers;
  }

 private:
  bool is_boolean_;
  const std::byte* base_ = nullptr;
  std::int64_t row_bytes_ = 0, pitch_;
  T* numbers_;
};

/// The right operand of a product: packed in panels, or rows that lie in place and end with whole vectors.
template <class T>
struct RightPanels {
  PanelLayout layout;
  std::int64_t depth = 0;  ///< rows of each panel
  T* packed = nullptr;
  const T* in_place = nullptr;
  std::int64_t in_place_pitch = 0;

  /// Elements between the steps of the panel that begins with this column, and where one of them is.
  std::int64_t pitch(std::int64_t column) const noexcept {
    return packed != nullptr ? layout.pitch_of(column / layout.width) : in_place_pitch;
  }
  const T* at(std::int64_t step, std::int64_t column) const noexcept {
    return (packed != nullptr ? packed + column * depth : in_place + column) + step * pitch(column);
  }
};

/// Elements of panels with so many rows.
inline std::int64_t packed_elements(const PanelLayout& layout, std::int64_t depth) noexcept {
  return layout.pitch_of_all() * depth;
}

template <class T>
void pack(const RightPanels<T>& panels, const PanelSource<T>& source) noexcept {
  const PanelLayout& layout = panels.layout;
  for (std::int64_t panel = 0; panel < layout.count(); ++panel) {
    pack_panel(layout, InnerBlock{0, 1, 0, panels.depth, 0}, panel, source,
               panels.packed + panel * layout.width * panels.depth);
  }
}

/// c[i][j] (+)= the sum over steps of left (i, step) * right (step, j), for some rows and columns, of which the first
/// begins a panel. Left, right and c are numbered alike.
template <class T>
void multiply(const TileSet<T>& tiles, const ReadableRows<T>& left, std::int64_t rows, const RightPanels<T>& right,
              Range steps, Range columns, T* c, std::int64_t pitch, bool accumulate) noexcept {
  const T* addresses[tile_rows];
  std::int64_t offsets[tile_rows];
  TileArguments<T> t;
  t.rows = addresses;
  t.c_offsets = offsets;
  t.segments = 1;
  t.first = steps.begin * left.column_stride;
  t.steps = steps.size();
  t.row_step = left.column_stride;
  t.accumulate = accumulate;
  const std::int64_t width = right.layout.width;
  for (std::int64_t first = columns.begin; first < columns.end; first += width) {
    t.columns = static_cast<int>(std::min(width, columns.end - first));
    t.b = right.at(steps.begin, first);
    t.b_step = right.pitch(first);
    t.c = c + first;
    const int vectors = (t.columns + right.layout.lanes - 1) / right.layout.lanes;
    for (std::int64_t row = 0; row < rows; row += tile_rows) {
      const int together = static_cast<int>(std::min<std::int64_t>(tile_rows, rows - row));
      for (int r = 0; r < together; ++r) {
        addresses[r] = left.row(row + r);
        offsets[r] = (row + r) * pitch;
      }
      tiles.tile[together - 1][vectors - 1](t);
    }
  }
}

/// As `multiply` by all columns, but each row of a tile takes steps of its own: what others take does not reach it, not
/// even a NaN. Either the first step or the end is the same for all rows; the other grows by at most one a row.
template <class T, class StepsOf>
void multiply_tile(const TileSet<T>& tiles, const RowLoops<T>& loops, const ReadableRows<T>& left, std::int64_t rows,
                   const RightPanels<T>& right, const StepsOf& steps_of, T* c, std::int64_t pitch,
                   bool accumulate) noexcept {
  const std::int64_t columns = right.layout.columns, width = right.layout.width;
  const Range first = steps_of(0), last = steps_of(rows - 1), shared{last.begin, first.end};
  const std::int64_t more = rows - 1, growth = last.end - first.end, shrinkage = last.begin - first.begin;
  const bool alike = growth + shrinkage == 0;
  if (!alike && growth + shrinkage < more) {
    for (std::int64_t r = 0; r < rows; ++r)
      multiply(tiles, left.from(r), 1, right, steps_of(r), {0, columns}, c + r * pitch, pitch, accumulate);
    return;
  }
  if (shared.size() > 0 || !accumulate) multiply(tiles, left, rows, right, shared, {0, columns}, c, pitch, accumulate);
  if (alike) return;
  // The first row of a growing triangle takes no step, as the last one of a shrinking one.
  const std::int64_t row = growth != 0 ? 1 : 0, step = growth != 0 ? first.end : first.begin;
  Triangle<T> t;
  t.left = left.row(row) + step * left.column_stride;
  t.left_row = left.row_stride;
  t.left_step = left.column_stride;
  t.sum_row = pitch;
  const auto kind = growth != 0 ? TriangleKind::growing : TriangleKind::shrinking;
  for (std::int64_t column = 0; column < columns; column += width) {
    t.right = right.at(step, column);
    t.right_step = right.pitch(column);
    t.columns = std::min(width, columns - column);
    t.sums = c + row * pitch + column;
    loops.add_triangle[static_cast<int>(kind)][more - 1](t);
  }
}

}  // namespace tyto::cpu::attention
