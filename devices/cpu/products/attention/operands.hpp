// SPDX-License-Identifier: MIT
// The operands of attention as stacks of matrices, and what its kernels do to rows of them.
#pragma once

#include <vector>

#include "core/device/device.hpp"
#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/products/tile/panel_product.hpp"

namespace tyto::cpu::attention {

/// A stack of matrices: where each starts, in elements from the operand's address, and the strides within it.
struct MatrixStack {
  DType dtype = DType::f32;
  std::vector<std::int64_t> starts;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 1;

  /// `view` holds matrices in its last two axes, or, with `vectors`, rows of one column each in its last.
  static MatrixStack of(const core::Operand& operand, bool vectors = false);

  /// Whether tiles can read it where it lies: not what is stored in half precision.
  bool is_readable() const noexcept { return !is_half(dtype); }
  template <class E>
  E* at(std::byte* base, std::int64_t matrix, std::int64_t row = 0) const noexcept {
    return reinterpret_cast<E*>(base) + starts[static_cast<std::size_t>(matrix)] + row * row_stride;
  }
  template <class E>
  const E* at(const std::byte* base, std::int64_t matrix, std::int64_t row = 0) const noexcept {
    return at<E>(const_cast<std::byte*>(base), matrix, row);
  }
};

/// Rows that tiles can read: in place, or widened.
template <class T>
struct ReadableRows {
  const T* base = nullptr;
  std::int64_t row_stride = 0, column_stride = 1;

  const T* row(std::int64_t i) const noexcept { return base + i * row_stride; }
  /// As the right operand whose steps are the rows' elements and whose columns are rows.
  PanelSource<T> transposed(std::int64_t first_row) const noexcept {
    return {row(first_row), nullptr, column_stride, row_stride};
  }
  /// As the right operand whose steps are rows.
  PanelSource<T> plain(std::int64_t first_row) const noexcept {
    return {row(first_row), nullptr, row_stride, column_stride};
  }
};

/// Rows [first, first + count) of one matrix, widened into `copy` where they are of half precision.
template <class T>
ReadableRows<T> readable_rows(const MatrixStack& stack, const std::byte* base, std::int64_t matrix, std::int64_t first,
                              std::int64_t count, T* copy) noexcept {
  if (stack.is_readable()) return {stack.at<T>(base, matrix, first), stack.row_stride, stack.column_stride};
  if constexpr (sizeof(T) == sizeof(float)) {
    for (std::int64_t i = 0; i < count; ++i) {
      widen(stack.dtype, stack.at<std::uint16_t>(base, matrix, first + i), stack.column_stride,
            copy + i * stack.columns, stack.columns);
    }
  }
  return {copy, stack.columns, 1};
}

/// Stores one row of a result.
template <class T>
void store_row(const MatrixStack& stack, std::byte* base, std::int64_t matrix, std::int64_t row,
               const T* values) noexcept {
  if (stack.is_readable()) {
    T* const to = stack.at<T>(base, matrix, row);
    for (std::int64_t i = 0; i < stack.columns; ++i) to[i * stack.column_stride] = values[i];
  } else if constexpr (sizeof(T) == sizeof(float)) {
    narrow(values, stack.dtype, stack.at<std::uint16_t>(base, matrix, row), stack.column_stride, stack.columns);
  }
}

/// What is added to scores, minus infinity where a query may not look, for the queries and keys of a block.
template <class T>
class MaskBlock {
 public:
  MaskBlock(const MatrixStack& mask, const std::byte* base, std::int64_t matrix) noexcept
      : mask_(mask), base_(base), matrix_(matrix) {}

  /// Fills `row` with what `query` adds to `count` keys from `key` on.
  void of_query(std::int64_t query, std::int64_t key, std::int64_t count, T* row) const noexcept {
    fill(query * mask_.row_stride + key * mask_.column_stride, mask_.column_stride, count, row);
  }
  /// Fills `row` with what `key` gets from `count` queries from `query` on.
  void of_key(std::int64_t key, std::int64_t query, std::int64_t count, T* row) const noexcept {
    fill(query * mask_.row_stride + key * mask_.column_stride, mask_.row_stride, count, row);
  }

 private:
  void fill(std::int64_t offset, std::int64_t stride, std::int64_t count, T* row) const noexcept {
    constexpr T nowhere = -static_cast<T>(__builtin_inf());
    if (mask_.dtype == DType::boolean) {
      const bool* from = mask_.at<bool>(base_, matrix_) + offset;
      for (std::int64_t i = 0; i < count; ++i) row[i] = from[i * stride] ? T(0) : nowhere;
    } else {
      const T* from = mask_.at<T>(base_, matrix_) + offset;
      for (std::int64_t i = 0; i < count; ++i) row[i] = from[i * stride];
    }
  }

  const MatrixStack& mask_;
  const std::byte* base_;
  std::int64_t matrix_;
};

/// A product of rows with packed panels for full blocks of the right operand, and for the rest.
template <class T>
struct BlockedProduct {
  PanelProduct<T> whole, rest;

  const PanelProduct<T>& of(bool is_whole) const noexcept { return is_whole ? whole : rest; }
};

/// The addresses of up to `rows` rows, in that many bytes of a workspace.
template <class T>
constexpr std::size_t row_table_bytes(std::int64_t rows) noexcept {
  return static_cast<std::size_t>(rows) * (sizeof(std::int64_t) + sizeof(T*));
}
template <class T>
RowTables<T> row_tables(std::byte* place, std::int64_t rows) noexcept {
  RowTables<T> tables;
  tables.c_offsets = reinterpret_cast<std::int64_t*>(place);
  tables.rows = reinterpret_cast<const T**>(tables.c_offsets + rows);
  return tables;
}

/// dense[r] (+)= the product of rows and packed panels: `pitch` is the distance of dense rows.
template <class T>
void multiply_rows(const PanelProduct<T>& product, const T* rows, std::int64_t row_stride, std::int64_t count,
                   const PanelOperand<T>& right, T* dense, std::int64_t pitch, bool accumulate,
                   const RowTables<T>& tables) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    tables.rows[i] = rows + i * row_stride;
    tables.c_offsets[i] = i * pitch;
  }
  Epilogue<T> epilogue;
  epilogue.accumulate = accumulate;
  multiply_chunk(product, {0, count}, {0, product.layout.count()}, tables, right, dense, epilogue);
}

}  // namespace tyto::cpu::attention
