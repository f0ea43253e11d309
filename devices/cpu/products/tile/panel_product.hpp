// SPDX-License-Identifier: MIT
// A product of addressed rows with packed panels: the loops round the register tile that matmul and convolution share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "devices/cpu/loop/result_loop.hpp"
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

/// How the columns of the right operand are cut into panels: full ones, then one of as many vectors as remain.
struct PanelLayout {
  std::int64_t columns = 0;
  int lanes = 1;
  int width = 1;

  std::int64_t count() const noexcept { return (columns + width - 1) / width; }
  std::int64_t columns_of(std::int64_t panel) const noexcept {
    return std::min<std::int64_t>(width, columns - panel * width);
  }
  /// Elements of a packed row of a panel: its columns, rounded up to whole vectors.
  std::int64_t pitch_of(std::int64_t panel) const noexcept { return (columns_of(panel) + lanes - 1) / lanes * lanes; }
  std::int64_t pitch_of_all() const noexcept {
    return columns == 0 ? 0 : (count() - 1) * width + pitch_of(count() - 1);
  }
};

/// A run of the inner dimension short enough for a panel of it to stay in the second-level cache.
struct InnerBlock {
  std::int64_t first_tap = 0;
  std::int64_t taps = 0;
  std::int64_t first = 0;  ///< first step of each tap
  std::int64_t steps = 0;  ///< steps of each tap
  std::int64_t depth_before = 0;

  std::int64_t depth() const noexcept { return taps * steps; }
};

/// Where the right operand lies before packing: element (tap, step, column) by strides.
template <class T>
struct PanelSource {
  const T* base = nullptr;
  const std::int64_t* tap_offsets = nullptr;  ///< one a tap; null when all taps start at base
  std::int64_t step_stride = 0;
  std::int64_t column_stride = 1;
};

/// The epilogue of a product; columns of scale and bias match those of the product.
template <class T>
struct Epilogue {
  const T* scale = nullptr;
  const T* bias = nullptr;
  const T* residual = nullptr;  ///< laid out like the result
  bool accumulate = false;
  Limits<T> limits = {};
  PartLoop loop = {};  ///< runs over each part of the result that is finished
};

/// The shape of a product and the choices made for it.
template <class T>
struct PanelProduct {
  const TileSet<T>* tiles = nullptr;
  std::int64_t rows = 0;
  std::int64_t taps = 1;
  std::int64_t row_step = 1;
  PanelLayout layout;
  std::vector<InnerBlock> blocks;
  std::int64_t chunk_rows = tile_rows;  ///< rows handled together: what a member reads of them stays in its L2
  /// Where all rows are one chunk, each panel is read once: members pack a panel just before they use it, into a place
  /// that stays in their L2, and share out panels only.
  bool packs_on_the_fly = false;

  std::int64_t packed_elements() const noexcept;
  /// Elements of the largest panel of a block.
  std::int64_t panel_elements() const noexcept;
  /// Bytes of the address tables that each member fills for a chunk.
  std::size_t table_bytes() const noexcept;
};

/// Plans a product of rows x (taps * steps) with (taps * steps) x columns; `row_bytes` is what a further row adds to
/// the memory that a chunk reads at a time. Panels are packed on the fly where `packed_before` is false and it pays.
template <class T>
PanelProduct<T> plan_panel_product(InstructionSet set, std::int64_t rows, std::int64_t columns, std::int64_t taps,
                                   std::int64_t steps, std::int64_t row_step, std::int64_t row_bytes,
                                   bool packed_before, int threads);

/// Packs the member's share of the panels.
template <class T>
void pack_panels(const PanelProduct<T>& product, const PanelSource<T>& source, T* packed, Team team) noexcept;

/// Packs one panel of one block.
template <class T>
void pack_panel(const PanelLayout& layout, const InnerBlock& block, std::int64_t panel, const PanelSource<T>& source,
                T* packed) noexcept;

/// The rows and panels that fall to a member: the cut of the team that leaves the least work to the busiest member.
struct MemberShare {
  Range rows;
  Range panels;
};
template <class T>
MemberShare member_share(const PanelProduct<T>& product, Team team) noexcept;

/// The address tables of a chunk, in the member's part of the workspace.
template <class T>
struct RowTables {
  const T** rows = nullptr;              ///< [tap][row], or [row] where there are shifts
  std::int64_t rows_step = 0;            ///< rows of a chunk, or 0
  const std::int64_t* shifts = nullptr;  ///< elements from the address of a row to what lies under each tap
  std::int64_t* c_offsets = nullptr;     ///< [row]

  static RowTables in(std::byte* place, const PanelProduct<T>& product) noexcept {
    RowTables tables;
    tables.c_offsets = reinterpret_cast<std::int64_t*>(place);
    tables.rows = reinterpret_cast<const T**>(tables.c_offsets + product.chunk_rows);
    tables.rows_step = product.chunk_rows;
    return tables;
  }
};

/// The right operand as the tiles read it: packed, or in place with its last panel packed when that is not whole, or
/// packed panel by panel from `source` into `scratch`, or written there by `write` as pack_panel would.
template <class T>
struct PanelOperand {
  const T* packed = nullptr;
  const T* in_place = nullptr;
  std::int64_t in_place_pitch = 0;
  const T* packed_tail = nullptr;
  const PanelSource<T>* source = nullptr;
  void (*write)(const void* writer, const InnerBlock& block, std::int64_t panel, T* packed) noexcept = nullptr;
  const void* writer = nullptr;
  T* scratch = nullptr;
};

/// The rows of a chunk, numbered as the result's.
template <class T>
void multiply_chunk(const PanelProduct<T>& product, Range rows, Range panels, const RowTables<T>& tables,
                    const PanelOperand<T>& right, T* c, const Epilogue<T>& epilogue) noexcept;

/// Computes the member's share. `fill(first_row, row_count, tables)` writes the addresses of a chunk.
template <class T, class Fill>
void multiply_panels(const PanelProduct<T>& product, const MemberShare& mine, const PanelOperand<T>& right, T* c,
                     const Epilogue<T>& epilogue, const RowTables<T>& tables, const Fill& fill) noexcept {
  if (mine.rows.size() == 0 || mine.panels.size() == 0) return;
  const std::int64_t chunks = (mine.rows.size() + product.chunk_rows - 1) / product.chunk_rows;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const Range part = share(mine.rows.size(), chunk, chunks, most_tile_rows);
    if (part.size() == 0) continue;
    const Range rows{mine.rows.begin + part.begin, mine.rows.begin + part.end};
    fill(rows.begin, rows.size(), tables);
    multiply_chunk(product, rows, mine.panels, tables, right, c, epilogue);
  }
}

}  // namespace tyto::cpu
