// SPDX-License-Identifier: MIT
// Blocking, packing and division among threads of panel products.
#include "devices/cpu/products/tile/panel_product.hpp"

#include <algorithm>

#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

// Sizes that keep a panel of a block, and the rows of a chunk, in the second-level cache.
constexpr std::int64_t panel_bytes = machine::second_level_cache / 8;
constexpr std::int64_t chunk_bytes = machine::second_level_cache / 4;
constexpr std::int64_t most_chunk_rows = 960;
constexpr std::int64_t most_table_bytes = machine::second_level_cache / 8;
// Steps of rows that are prefetched, and steps times vectors of a tile that ends before what it prefetched is there.
constexpr std::int64_t longest_short_row = 128;
constexpr std::int64_t short_tile = 64;

// A loop over the result takes so many rows of a panel at a time: few enough to stay near, many enough for the call.
constexpr std::int64_t rows_of_a_loop = 4 * tile_rows;

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::vector<InnerBlock> cut_inner(std::int64_t taps, std::int64_t steps, std::int64_t deepest) {
  std::vector<InnerBlock> blocks;
  std::int64_t before = 0;
  const auto add = [&](std::int64_t first_tap, std::int64_t count, std::int64_t first, std::int64_t length) {
    blocks.push_back({first_tap, count, first, length, before});
    before += count * length;
  };
  if (taps == 0 || steps == 0) {
    add(0, 0, 0, 0);  // one empty block: the result is written all the same
  } else if (steps > deepest) {
    const std::int64_t parts = (steps + deepest - 1) / deepest;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t part = 0; part < parts; ++part) {
        const Range range = share(steps, part, parts, 8);
        if (range.size() > 0) add(tap, 1, range.begin, range.size());
      }
    }
  } else {
    const std::int64_t parts = (taps * steps + deepest - 1) / deepest;
    for (std::int64_t part = 0; part < parts; ++part) {
      const Range range = share(taps, part, parts);
      if (range.size() > 0) add(range.begin, range.size(), 0, steps);
    }
  }
  return blocks;
}

}  // namespace

template <class T>
std::int64_t PanelProduct<T>::packed_elements() const noexcept {
  return blocks.empty() ? 0 : (blocks.back().depth_before + blocks.back().depth()) * layout.pitch_of_all();
}

template <class T>
std::int64_t PanelProduct<T>::panel_elements() const noexcept {
  std::int64_t deepest = 0;
  for (const InnerBlock& block : blocks) deepest = std::max(deepest, block.depth());
  return deepest * layout.width;
}

template <class T>
std::size_t PanelProduct<T>::table_bytes() const noexcept {
  return static_cast<std::size_t>(chunk_rows) * (sizeof(std::int64_t) + static_cast<std::size_t>(taps) * sizeof(T*));
}

template <class T>
PanelProduct<T> plan_panel_product(InstructionSet set, std::int64_t rows, std::int64_t columns, std::int64_t taps,
                                   std::int64_t steps, std::int64_t row_step, std::int64_t row_bytes,
                                   bool packed_before, int threads) {
  PanelProduct<T> product;
  product.tiles = &tiles<T>(set);
  product.rows = rows;
  product.taps = steps == 0 ? 0 : taps;
  product.row_step = row_step;
  product.layout = {columns, product.tiles->lanes, product.tiles->width()};
  product.blocks =
      cut_inner(taps, steps, panel_bytes / (product.tiles->width() * static_cast<std::int64_t>(sizeof(T))));
  const std::int64_t by_cache = chunk_bytes / std::max<std::int64_t>(row_bytes, 1);
  const std::int64_t by_table =
      most_table_bytes / static_cast<std::int64_t>(sizeof(T*)) / std::max<std::int64_t>(taps, 1);
  const std::int64_t wanted = std::min({by_cache, by_table, most_chunk_rows, rows});
  product.chunk_rows = rounded_up(std::max<std::int64_t>(wanted, 2 * most_tile_rows), most_tile_rows);
  product.chunk_rows = std::min(product.chunk_rows, rounded_up(std::max<std::int64_t>(rows, 1), most_tile_rows));
  product.packs_on_the_fly =
      !packed_before && rows <= product.chunk_rows && (threads == 1 || product.layout.count() >= 2 * threads);
  return product;
}

template <class T>
void pack_panel(const PanelLayout& layout, const InnerBlock& block, std::int64_t panel, const PanelSource<T>& source,
                T* packed) noexcept {
  // Steps and columns transposed at a time: whole cache lines read, their panel rows stay in L1, and the next columns
  // come in meanwhile, each of which may start on a page of its own, which hardware does not foresee.
  constexpr std::int64_t run = 64, together = 16;
  constexpr auto element = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t columns = layout.columns_of(panel), pitch = layout.pitch_of(panel);
  for (std::int64_t tap = 0; tap < block.taps; ++tap) {
    const T* from = source.base + block.first * source.step_stride + panel * layout.width * source.column_stride;
    if (source.tap_offsets != nullptr) from += source.tap_offsets[block.first_tap + tap];
    T* to = packed + tap * block.steps * pitch;
    if (source.column_stride == 1) {
      for (std::int64_t step = 0; step < block.steps; ++step) {
        std::copy_n(from + step * source.step_stride, columns, to + step * pitch);
      }
    } else {
      for (std::int64_t start = 0; start < block.steps; start += run) {
        const std::int64_t stop = std::min(start + run, block.steps);
        for (std::int64_t column = 0; column < columns; column += together) {
          const T* const first = from + start * source.step_stride + column * source.column_stride;
          for (std::int64_t next = column + together; next < std::min(column + 2 * together, columns); ++next) {
            const T* const ahead = first + (next - column) * source.column_stride;
            for (std::int64_t i = 0; i < stop - start; i += machine::cache_line / element)
              __builtin_prefetch(ahead + i);
          }
          const CopyBlock square{
              stop - start, std::min(together, columns - column), source.step_stride, source.column_stride, pitch, 1};
          copy_function(square, sizeof(T))(reinterpret_cast<const std::byte*>(first),
                                           reinterpret_cast<std::byte*>(to + start * pitch + column), square);
        }
      }
    }
    if (pitch > columns) {
      for (std::int64_t step = 0; step < block.steps; ++step) {
        std::fill(to + step * pitch + columns, to + (step + 1) * pitch, T(0));
      }
    }
  }
}

template <class T>
void pack_panels(const PanelProduct<T>& product, const PanelSource<T>& source, T* packed, Team team) noexcept {
  const PanelLayout& layout = product.layout;
  const std::int64_t panels = layout.count(), jobs = panels * static_cast<std::int64_t>(product.blocks.size());
  const Range mine = share(jobs, team.member, team.size);
  for (std::int64_t job = mine.begin; job < mine.end; ++job) {
    const InnerBlock& block = product.blocks[static_cast<std::size_t>(job / panels)];
    const std::int64_t panel = job % panels;
    pack_panel(layout, block, panel, source,
               packed + block.depth_before * layout.pitch_of_all() + panel * layout.width * block.depth());
  }
}

template <class T>
MemberShare member_share(const PanelProduct<T>& product, Team team) noexcept {
  const std::int64_t row_tiles = (product.rows + tile_rows - 1) / tile_rows, panels = product.layout.count();
  if (product.packs_on_the_fly) return {{0, product.rows}, share(panels, team.member, team.size)};
  // The load of the busiest member decides. Narrow panels count for less.
  const auto load_of = [&](int by_columns) {
    const std::int64_t by_rows = team.size / by_columns;
    std::int64_t widest = 0;
    for (int part = 0; part < by_columns; ++part) {
      const Range mine = share(panels, part, by_columns);
      std::int64_t width = 0;
      for (std::int64_t panel = mine.begin; panel < mine.end; ++panel) width += product.layout.pitch_of(panel);
      widest = std::max(widest, width);
    }
    return (row_tiles + by_rows - 1) / by_rows * widest;
  };
  std::int64_t least = load_of(1);
  for (int by_columns = 2; by_columns <= team.size; ++by_columns) {
    if (team.size % by_columns == 0) least = std::min(least, load_of(by_columns));
  }
  // Between cuts that are about equal: where columns are cut, several members read the same rows; where rows are cut,
  // all of them read the right operand, which is the larger one if rows are few.
  const bool prefer_columns = row_tiles * tile_rows < product.layout.columns;
  int best_columns = 0;
  for (int by_columns = 1; by_columns <= team.size; ++by_columns) {
    if (team.size % by_columns != 0 || load_of(by_columns) > least + least / 16) continue;
    if (best_columns == 0 || prefer_columns) best_columns = by_columns;
  }
  const std::int64_t by_rows = team.size / best_columns;
  return {share(product.rows, team.member / best_columns, by_rows, tile_rows),
          share(panels, team.member % best_columns, best_columns)};
}

// The rows of a later tile, whose addresses begin so many behind this one's.
template <class T>
void prefetch_rows(const TileArguments<T>& t, std::int64_t later, int rows) noexcept {
  constexpr std::int64_t line_elements = machine::cache_line / static_cast<std::int64_t>(sizeof(T));
  for (int r = 0; r < rows; ++r) {
    const T* row = t.rows[later + r] + t.first;
    for (std::int64_t i = 0; i < t.steps; i += line_elements) __builtin_prefetch(row + i);
  }
}

template <class T>
void multiply_chunk(const PanelProduct<T>& product, Range of_result, Range panels, const RowTables<T>& tables,
                    const PanelOperand<T>& right, T* c, const Epilogue<T>& epilogue) noexcept {
  const PanelLayout& layout = product.layout;
  const std::int64_t chunk_rows = of_result.size();
  // All blocks of a panel in turn where the rows stay near and the result would not.
  const auto blocks = static_cast<std::int64_t>(product.blocks.size()), jobs = blocks * panels.size();
  const std::int64_t depth = product.blocks.back().depth_before + product.blocks.back().depth();
  const std::int64_t near_elements = machine::second_level_cache / 2 / static_cast<std::int64_t>(sizeof(T));
  const bool by_panels = right.in_place == nullptr && chunk_rows * depth <= near_elements &&
                         chunk_rows * panels.size() * layout.width > near_elements;
  const auto block_of = [&](std::int64_t job) { return by_panels ? job % blocks : job / panels.size(); };
  const auto panel_of = [&](std::int64_t job) {
    return panels.begin + (by_panels ? job / blocks : job % panels.size());
  };
  const auto packed_at = [&](std::int64_t job) {
    const InnerBlock& block = product.blocks[static_cast<std::size_t>(block_of(job))];
    return right.packed + block.depth_before * layout.pitch_of_all() + panel_of(job) * layout.width * block.depth();
  };
  for (std::int64_t job = 0; job < jobs; ++job) {
    const std::int64_t number = block_of(job), panel = panel_of(job);
    const InnerBlock& block = product.blocks[static_cast<std::size_t>(number)];
    const bool is_first = number == 0, is_last = number + 1 == blocks;
    const std::int64_t columns = layout.columns_of(panel), pitch = layout.pitch_of(panel);
    const std::int64_t first_column = panel * layout.width;
    const T* next_panel = nullptr;
    TileArguments<T> t;
    t.rows_step = tables.rows_step;
    t.shifts = tables.shifts != nullptr ? tables.shifts + block.first_tap : nullptr;
    t.segments = block.taps;
    t.first = block.first * product.row_step;
    t.steps = block.steps;
    t.row_step = product.row_step;
    t.columns = static_cast<int>(columns);
    if (right.source != nullptr || right.write != nullptr) {
      if (right.write != nullptr) right.write(right.writer, block, panel, right.scratch);
      else pack_panel(layout, block, panel, *right.source, right.scratch);
      t.b = right.scratch;
      t.b_step = pitch;
    } else if (right.in_place == nullptr) {
      t.b = packed_at(job);
      t.b_step = pitch;
      // The panel that follows comes in while this one is multiplied, a part in each tile: with few rows, reading
      // weights takes as long as multiplying. The next chunk begins anew.
      next_panel = packed_at((job + 1) % jobs);
    } else if (right.packed_tail != nullptr && panel == layout.count() - 1) {
      t.b = right.packed_tail + block.depth_before * pitch;
      t.b_step = pitch;
    } else {
      t.b = right.in_place + block.depth_before * right.in_place_pitch + first_column;
      t.b_step = right.in_place_pitch;
    }
    t.c = c + first_column;
    t.accumulate = !is_first || epilogue.accumulate;
    // Each partial sum by itself, so that what they are added to stays as it is.
    t.scale = epilogue.scale != nullptr ? epilogue.scale + first_column : nullptr;
    // When all products are summed, as an operator of its own would add it.
    t.bias = is_last && epilogue.bias != nullptr ? epilogue.bias + first_column : nullptr;
    t.residual = is_last && epilogue.residual != nullptr ? epilogue.residual + first_column : nullptr;
    t.limits = is_last ? epilogue.limits : Limits<T>{};
    const std::int64_t vectors = pitch / layout.lanes, row_tiles = (chunk_rows + tile_rows - 1) / tile_rows;
    t.ahead = next_panel;
    t.ahead_step = next_panel == nullptr ? 0 : (pitch + row_tiles - 1) / row_tiles;
    // Short rows of one tap come too late otherwise. Long ones hardware prefetches, and further taps read rows again.
    const bool in_time = block.taps != 1 || block.steps > longest_short_row || product.row_step != 1;
    const std::int64_t tiles_before = in_time ? chunk_rows : block.steps * vectors > short_tile ? 1 : 2;
    const bool loops = is_last && epilogue.loop;
    std::int64_t looped = 0;
    int rows = 0;
    for (std::int64_t row = 0; row < chunk_rows; row += rows) {
      rows = product.tiles->rows_of_tile(chunk_rows - row, vectors);
      t.rows = tables.rows + row + block.first_tap * tables.rows_step;
      t.c_offsets = tables.c_offsets + row;
      const std::int64_t soon = tiles_before * rows;
      if (panel == panels.begin && row + soon + rows <= chunk_rows) prefetch_rows(t, soon, rows);
      product.tiles->multiply(t, rows, vectors);
      t.ahead += t.ahead_step * block.depth();
      if (!loops || ((row + rows) % rows_of_a_loop != 0 && row + rows != chunk_rows)) continue;
      epilogue.loop({of_result.begin + looped, of_result.begin + row + rows}, {first_column, first_column + columns});
      looped = row + rows;
    }
  }
}

template struct PanelProduct<float>;
template struct PanelProduct<double>;
#define TYTO_INSTANTIATE(T)                                                                                           \
  template PanelProduct<T> plan_panel_product<T>(InstructionSet, std::int64_t, std::int64_t, std::int64_t,            \
                                                 std::int64_t, std::int64_t, std::int64_t, bool, int);                \
  template void pack_panels(const PanelProduct<T>&, const PanelSource<T>&, T*, Team) noexcept;                        \
  template void pack_panel(const PanelLayout&, const InnerBlock&, std::int64_t, const PanelSource<T>&, T*) noexcept;  \
  template MemberShare member_share(const PanelProduct<T>&, Team) noexcept;                                           \
  template void multiply_chunk(const PanelProduct<T>&, Range, Range, const RowTables<T>&, const PanelOperand<T>&, T*, \
                               const Epilogue<T>&) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu
