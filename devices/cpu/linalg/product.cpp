// SPDX-License-Identifier: MIT
// Products and triangular systems by register tiles, which factorisations update their trailing matrices with.
#include <algorithm>
#include <type_traits>

#include "devices/cpu/linalg/matrix.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu::linalg {

namespace {

/// Rows of the left operand that meet every panel before the next ones do: they stay in the second cache.
constexpr std::int64_t chunk = 96;

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

template <class T>
void pack_panel(const Matrix<const T>& b, Sign sign, std::int64_t pitch, T* to) noexcept {
  const T factor = sign == Sign::plus ? T(1) : T(-1);
  for (std::int64_t step = 0; step < b.rows; ++step, to += pitch) {
    const T* from = b.row(step);
    if (b.column_step == 1) {
      for (std::int64_t column = 0; column < b.columns; ++column) to[column] = factor * from[column];
    } else {
      for (std::int64_t column = 0; column < b.columns; ++column) to[column] = factor * from[column * b.column_step];
    }
    std::fill(to + b.columns, to + pitch, T(0));
  }
}

/// Rows of the result that are worked on: from a row on, those whose columns below `columns_of(row)` are wanted.
template <class T>
void multiply_rows(const TileSet<T>& tiles, const Matrix<const T>& a, const T* packed, const Matrix<T>& c, Range rows,
                   bool below) noexcept {
  const std::int64_t width = tiles.width(), lanes = tiles.lanes;
  for (std::int64_t top = rows.begin; top < rows.end; top += chunk) {
    const std::int64_t bottom = std::min(top + chunk, rows.end);
    for (std::int64_t column = 0; column < c.columns; column += width) {
      if (below && column >= bottom) break;
      const std::int64_t columns = std::min(width, c.columns - column), pitch = rounded_up(columns, lanes);
      TileArguments<T> t;
      const T* addresses[tile_rows];
      std::int64_t offsets[tile_rows];
      t.rows = addresses;
      t.segments = 1;
      t.steps = a.columns;
      t.row_step = a.column_step;
      t.b = packed + column * a.columns;
      t.b_step = pitch;
      t.c = c.first + column;
      t.c_offsets = offsets;
      t.columns = static_cast<int>(columns);
      t.accumulate = true;
      for (std::int64_t row = top; row < bottom; row += tile_rows) {
        const std::int64_t count = std::min<std::int64_t>(tile_rows, bottom - row);
        if (below && column >= row + count) continue;
        for (std::int64_t r = 0; r < count; ++r) {
          addresses[r] = a.row(row + r);
          offsets[r] = (row + r) * c.row_step;
        }
        tiles.tile[count - 1][pitch / lanes - 1](t);
      }
    }
  }
}

template <class T>
void add_product(const KernelContext<T>& context, const Matrix<const T>& a, const Matrix<const T>& b,
                 const Matrix<T>& c, Sign sign, bool below) noexcept {
  if (c.rows == 0 || c.columns == 0) return;
  const TileSet<T>& tiles = *context.tiles;
  const std::int64_t width = tiles.width(), panels = (c.columns + width - 1) / width;
  const double operations =
      2.0 * static_cast<double>(c.rows) * static_cast<double>(c.columns) * static_cast<double>(a.columns);
  const int threads =
      context.threads == 1 ? 1 : std::min(context.threads, threads_for(operations / machine::tile_operations));
  run_team(threads, [&](Team team) {
    for (std::int64_t first = 0; first < a.columns; first += packed_depth) {
      const std::int64_t depth = std::min(packed_depth, a.columns - first);
      if (first > 0) team.barrier();
      const Range mine = share(panels, team.member, team.size);
      for (std::int64_t panel = mine.begin; panel < mine.end; ++panel) {
        const std::int64_t column = panel * width, columns = std::min(width, c.columns - column);
        pack_panel<T>(b.part(first, column, depth, columns), sign, rounded_up(columns, tiles.lanes),
                      context.packed + column * depth);
      }
      team.barrier();
      multiply_rows<T>(tiles, a.part(0, first, a.rows, depth), context.packed, c,
                       share(c.rows, team.member, team.size, tile_rows), below);
    }
  });
}

}  // namespace

template <class T>
std::size_t packed_bytes(const TileSet<T>& tiles, std::int64_t columns) noexcept {
  return static_cast<std::size_t>(packed_depth * rounded_up(columns, tiles.width())) * sizeof(T);
}

template <class T>
void add_product(const KernelContext<T>& context, Matrix<const std::type_identity_t<T>> a,
                 Matrix<const std::type_identity_t<T>> b, Matrix<T> c, Sign sign) noexcept {
  add_product<T>(context, a, b, c, sign, false);
}

template <class T>
void add_product_below(const KernelContext<T>& context, Matrix<const std::type_identity_t<T>> a,
                       Matrix<const std::type_identity_t<T>> b, Matrix<T> c, Sign sign) noexcept {
  add_product<T>(context, a, b, c, sign, true);
}

template <class T>
void solve_triangular(const KernelContext<T>& context, Matrix<const std::type_identity_t<T>> t, Triangle triangle,
                      bool unit, Matrix<T> b) noexcept {
  const std::int64_t size = t.rows;
  if (size == 0 || b.columns == 0) return;
  const bool lower = triangle == Triangle::lower;
  if (size <= small_triangle) {
    for (std::int64_t step = 0; step < size; ++step) {
      const std::int64_t row = lower ? step : size - 1 - step;
      T* here = b.row(row);
      for (std::int64_t other = lower ? 0 : row + 1; other < (lower ? row : size); ++other) {
        if (b.columns == 1) {
          here[0] -= t(row, other) * b(other, 0);
        } else {
          context.loops->add_scaled(b.columns, -t(row, other), b.row(other), here);
        }
      }
      if (!unit) {
        for (std::int64_t column = 0; column < b.columns; ++column) here[column] /= t(row, row);
      }
    }
    return;
  }
  const std::int64_t half = rounded_up(size / 2, small_triangle / 2), rest = size - half;
  const auto above = b.part(0, 0, half, b.columns), beneath = b.part(half, 0, rest, b.columns);
  const auto update = [&](Matrix<const T> left, const Matrix<T>& from, const Matrix<T>& to) {
    if (b.columns > 1 || b.row_step != 1 || left.column_step != 1) {
      return linalg::add_product<T>(context, left, from, to, Sign::minus);
    }
    for (std::int64_t row = 0; row < to.rows; ++row) {
      to.first[row] -= context.loops->dot(left.columns, left.row(row), from.first);
    }
  };
  if (lower) {
    solve_triangular(context, t.part(0, 0, half, half), triangle, unit, above);
    update(t.part(half, 0, rest, half), above, beneath);
    solve_triangular(context, t.part(half, half, rest, rest), triangle, unit, beneath);
  } else {
    solve_triangular(context, t.part(half, half, rest, rest), triangle, unit, beneath);
    update(t.part(0, half, half, rest), beneath, above);
    solve_triangular(context, t.part(0, 0, half, half), triangle, unit, above);
  }
}

template <class T>
void solve_upper_right(const KernelContext<T>& context, Matrix<const std::type_identity_t<T>> t, Matrix<T> b) noexcept {
  const std::int64_t size = t.rows;
  if (size == 0 || b.rows == 0) return;
  if (size <= small_triangle) {
    T triangle[small_triangle * small_triangle] = {}, inverses[small_triangle] = {};
    for (std::int64_t row = 0; row < size; ++row) {
      inverses[row] = T(1) / t(row, row);
      for (std::int64_t column = row + 1; column < size; ++column)
        triangle[row * small_triangle + column] = t(row, column);
    }
    return context.loops->solve_right(b.rows, size, triangle, inverses, b.first, b.row_step);
  }
  const std::int64_t half = rounded_up(size / 2, small_triangle / 2), rest = size - half;
  const auto left = b.part(0, 0, b.rows, half), right = b.part(0, half, b.rows, rest);
  solve_upper_right(context, t.part(0, 0, half, half), left);
  linalg::add_product<T>(context, left, t.part(0, half, half, rest), right, Sign::minus);
  solve_upper_right(context, t.part(half, half, rest, rest), right);
}

#define TYTO_INSTANTIATE(T)                                                                                          \
  template std::size_t packed_bytes<T>(const TileSet<T>&, std::int64_t) noexcept;                                    \
  template void add_product<T>(const KernelContext<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, Sign) noexcept; \
  template void add_product_below<T>(const KernelContext<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>,           \
                                     Sign) noexcept;                                                                 \
  template void solve_triangular<T>(const KernelContext<T>&, Matrix<const T>, Triangle, bool, Matrix<T>) noexcept;   \
  template void solve_upper_right<T>(const KernelContext<T>&, Matrix<const T>, Matrix<T>) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
