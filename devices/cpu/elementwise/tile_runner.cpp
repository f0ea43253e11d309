// A launch's inner work: operands are brought into tiles, loops called, results put where they belong.
#include "devices/cpu/elementwise/tile_runner.hpp"

#include <algorithm>

#include "devices/cpu/elementwise/uncached.hpp"

namespace tyto::cpu {

namespace {

void fetch_ahead(const Stream& stream, std::int64_t first, std::size_t count) {
  constexpr std::size_t line = 64;
  // As a number: the stream may reach beyond the end of its tensor, where asking for a line does nothing.
  const auto from = reinterpret_cast<std::uintptr_t>(stream.from) + static_cast<std::size_t>(first) * stream.width;
  for (std::size_t at = 0; at < count * stream.width; at += line) {
    // To the L2 cache: what goes to L1 takes its few places for lines on the way from what is computed meanwhile.
    constexpr int for_reading = 0, second_level = 2;
    __builtin_prefetch(reinterpret_cast<const void*>(from + at), for_reading, second_level);
  }
}

}  // namespace

void TileRunner::fetch(const Load& load, const Place& place, const std::byte* from, void* tile, std::byte* memory,
                       Extent extent) {
  const std::size_t count = extent.count();
  if (load.form == Load::Form::convert) {
    load.convert(tile, from, nullptr, nullptr, count);
    return;
  }
  std::byte* to = load.convert != nullptr ? memory + load.staging : static_cast<std::byte*>(tile);
  if (load.form == Load::Form::turn) {
    load.transpose(to, from, place.column, static_cast<std::size_t>(extent.rows),
                   static_cast<std::size_t>(extent.columns));
  } else if (extent.rows == 1 || (place.row == 0 && place.column == 0)) {
    load.gather(to, from, place.column, count);
  } else {
    const auto columns = static_cast<std::size_t>(extent.columns);
    for (std::int64_t row = 0; row < extent.rows; ++row) {
      load.gather(to + static_cast<std::size_t>(row) * columns * load.width, from + row * place.row, place.column,
                  columns);
    }
  }
  if (load.convert != nullptr) load.convert(tile, to, nullptr, nullptr, count);
}

void TileRunner::put(const Store& store, const Place& place, std::byte* to, const void* value, std::byte* memory,
                     Extent extent) {
  if (store.form != Store::Form::scatter) {
    store.convert(to, value, nullptr, nullptr, extent.count());
    return;
  }
  const auto* from = static_cast<const std::byte*>(value);
  if (store.convert != nullptr) {
    store.convert(memory + store.staging, value, nullptr, nullptr, extent.count());
    from = memory + store.staging;
  }
  const auto columns = static_cast<std::size_t>(extent.columns);
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    store.scatter(to + row * place.row, from + static_cast<std::size_t>(row) * columns * store.width, place.column,
                  columns);
  }
}

TileRunner::TileRunner(const BoundProgram& program, std::span<const core::Address> inputs,
                       std::span<const core::Address> outputs)
    : TileRunner(program) {
  for (std::size_t i = 0; i < operands(); ++i) {
    const core::Address& address = i < program.inputs ? inputs[i] : outputs[i - program.inputs];
    starts_[i] = address.pointer() + geometry_.places[i].start;
  }
  choose_places();
}

TileRunner::TileRunner(const BoundProgram& program) : program_(program), geometry_(program.geometry) {
  for (std::size_t i = 0; i < program.tiles.size(); ++i) {
    if (program.tiles[i] != BoundProgram::elsewhere) values_[i] = memory_ + program.tiles[i];
  }
  for (const Constant& constant : program.constants) {
    constant.fill(values_[constant.value], &constant.bits, 0, constant.single ? 1 : whole().count());
  }
}

TileRunner::~TileRunner() {
  if (uncached_) publish_uncached();
}

void TileRunner::place(std::span<const Placed> inputs, std::span<const Placed> outputs) {
  buffer_count_ = 0;
  for (std::size_t i = 0; i < operands(); ++i) {
    const Placed& placed = i < program_.inputs ? inputs[i] : outputs[i - program_.inputs];
    starts_[i] = placed.start + geometry_.places[i].start;
    if (placed.row_bytes != 0) buffers_[buffer_count_++] = {i, {starts_[i], placed.row_bytes}};
  }
  choose_places();
}

void TileRunner::turn_to(std::int64_t row) {
  for (std::size_t i = 0; i < buffer_count_; ++i) {
    starts_[buffers_[i].operand] = buffers_[i].placed.beginning_with(row);
  }
}

/// Outputs lie exactly over an input or apart from all of them: where they start tells which.
void TileRunner::choose_places() {
  in_place_ = 0;
  for (std::size_t i = 0; i < program_.stores.size(); ++i) {
    const Store& store = program_.stores[i];
    if (store.form != Store::Form::direct) continue;
    bool apart = true;
    for (std::size_t input = 0; input < program_.inputs && store.read_later >> input != 0; ++input) {
      const bool read = (store.read_later >> input & 1u) != 0;
      apart = apart && !(read && starts_[input] == starts_[program_.inputs + store.operand]);
    }
    if (apart) in_place_ |= std::uint64_t{1} << i;
    else values_[store.value] = memory_ + program_.tiles[store.value];
  }
  if (uncached_) publish_uncached();
  uncached_ = passes_caches();
}

bool TileRunner::passes_caches() const {
  if (!program_.has_uncached() || in_place_ == 0) return false;
  const std::byte* const result = starts_[program_.inputs + program_.stores[0].operand];
  return std::find(starts_, starts_ + program_.inputs, result) == starts_ + program_.inputs;
}

/// Turns to an index of the outer axes.
void TileRunner::enter(std::int64_t index) {
  for (std::size_t i = 0; i < operands(); ++i) places_[i] = starts_[i];
  for (std::size_t axis = geometry_.outer.size(); axis-- > 0;) {
    // Divisions are dear, and most often there is one axis, entered for every row.
    const std::int64_t position = axis == 0 ? index : index % geometry_.outer[axis];
    if (axis != 0) index /= geometry_.outer[axis];
    for (std::size_t i = 0; i < operands(); ++i) places_[i] += position * geometry_.places[i].outer[axis];
  }
}

/// The elements from (row, column) of the present outer index on.
void TileRunner::run(std::int64_t row, std::int64_t column, Extent extent, Kept kept) {
  const auto at = [&](std::size_t operand, const Place& place) {
    return places_[operand] + row * place.row + column * place.column;
  };
  const auto in_place = [&](std::size_t store) { return (in_place_ >> store & 1u) != 0; };
  for (std::size_t i = 0; i < program_.stores.size(); ++i) {
    if (!in_place(i)) continue;
    const Store& store = program_.stores[i];
    values_[store.value] = at(program_.inputs + store.operand, program_.place(store));
  }
  for (const Load& load : program_.loads) {
    const Place& place = program_.place(load);
    std::byte* from = at(load.operand, place);
    if (load.form == Load::Form::direct) {
      values_[load.value] = from;
    } else if (kept >= Kept::all_but_rows && load.once) {
      continue;
    } else if ((kept == Kept::all || kept == Kept::numbers_and_rows) && load.per_row) {
      continue;
    } else if ((kept == Kept::numbers || kept == Kept::numbers_and_rows) && load.number) {
      continue;
    } else {
      const bool wide = load.number || (kept_whole_ && (load.once || load.per_row));
      const Extent wanted = load.single ? Extent{1, 1} : wide ? whole() : extent;
      fetch(load, place, from, values_[load.value], memory_, wanted);
    }
  }
  for (const Stream& stream : ahead_) fetch_ahead(stream, passed_, extent.count());
  for (const Instruction& instruction : program_.instructions) {
    if (instruction.chain != nullptr || uncached_) {
      const void* leaves[LoopCall::most_operands];
      for (std::size_t k = 0; k < LoopCall::most_operands; ++k) leaves[k] = values_[instruction.operands[k]];
      void* results[ChainLoop::most_results];
      for (std::size_t k = 0; k < ChainLoop::most_results; ++k) results[k] = values_[instruction.results[k]];
      instruction.call(results, leaves, extent.count(), uncached_);
    } else {
      instruction.loop(values_[instruction.results[0]], values_[instruction.operands[0]],
                       values_[instruction.operands[1]], values_[instruction.operands[2]], extent.count());
    }
  }
  if (sum_ != nullptr) {
    const void* leaves[LoopCall::most_operands];
    for (std::size_t k = 0; k < LoopCall::most_operands; ++k) leaves[k] = values_[program_.sum.operands[k]];
    program_.sum.add(leaves, extent.count(), sum_);
  }
  for (std::size_t i = 0; i < program_.stores.size(); ++i) {
    if (in_place(i)) continue;
    const Store& store = program_.stores[i];
    const Place& place = program_.place(store);
    put(store, place, at(program_.inputs + store.operand, place), values_[store.value], memory_, extent);
  }
}

bool TileRunner::by_lines() const {
  return program_.lines.apply && in_place_ == (std::uint64_t{1} << program_.stores.size()) - 1;
}

template <class Call>
void TileRunner::each_line(Range lines, const Call& call) {
  constexpr std::size_t most_leaves = LoopCall::most_operands, most_results = ChainLoop::most_results;
  const bool summed = program_.sum.add != nullptr;
  const auto& read = summed ? program_.sum.operands : program_.instructions[0].operands;
  const std::vector<Lines::Moved>&operands = program_.lines.operands, &written = program_.lines.results;
  const void* leaves[most_leaves] = {};
  void* results[most_results] = {};
  for (std::size_t k = 0; k < most_leaves; ++k) {
    if (program_.tiles[read[k]] != BoundProgram::elsewhere) leaves[k] = values_[read[k]];  // a constant
  }
  // One block of rows is often one row, so that what precedes the calls counts as much as what lies between them.
  const std::int64_t in_a_row = program_.lines.in_a_row;
  const bool all_in_a_row = program_.lines.all_in_a_row;
  for (std::int64_t line = lines.begin; line < lines.end;) {
    const std::int64_t position = all_in_a_row ? line : line % in_a_row;
    const std::int64_t end = std::min(lines.end, line - position + in_a_row);
    if (!all_in_a_row) enter(geometry_.column_tiles > 1 ? line / in_a_row : line - position);
    std::byte* const* const places = all_in_a_row ? starts_ : places_;
    for (const Lines::Moved& each : operands) leaves[each.slot] = places[each.place] + position * each.distance;
    for (const Lines::Moved& each : written) results[each.slot] = places[each.place] + position * each.distance;
    while (true) {
      call(line, results, leaves);
      if (++line == end) break;
      for (const Lines::Moved& each : operands) {
        const void*& leaf = leaves[each.slot];
        leaf = static_cast<const std::byte*>(leaf) + each.distance;
      }
      for (const Lines::Moved& each : written) {
        void*& result = results[each.slot];
        result = static_cast<std::byte*>(result) + each.distance;
      }
    }
  }
}

void TileRunner::call_lines(Range lines) {
  const Instruction& instruction = program_.instructions[0];
  const auto length = static_cast<std::size_t>(geometry_.tile_columns);
  each_line(lines, [&](std::int64_t line, void* const* results, const void* const* leaves) {
    for (const Stream& stream : ahead_) fetch_ahead(stream, (line - lines.begin) * geometry_.tile_columns, length);
    instruction.call(results, leaves, length, uncached_);
  });
}

void TileRunner::run_tiles(Range tiles) {
  if (by_lines()) return call_lines(tiles);
  kept_whole_ = true;
  const std::int64_t column_tiles = geometry_.column_tiles, row_tiles = geometry_.row_tiles;
  std::int64_t column_tile = tiles.begin % column_tiles;
  std::int64_t row_tile = tiles.begin / column_tiles % row_tiles;
  std::int64_t outer = tiles.begin / (column_tiles * row_tiles);
  enter(outer);
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const std::int64_t row = row_tile * geometry_.tile_rows, column = column_tile * geometry_.tile_columns;
    const Extent extent{std::min(geometry_.tile_columns, geometry_.columns - column),
                        std::min(geometry_.tile_rows, geometry_.rows - row)};
    const Kept kept = tile == tiles.begin ? Kept::nothing : column_tile == 0 ? Kept::all_but_rows : Kept::all;
    run(row, column, extent, kept);
    if (++column_tile == column_tiles) {
      column_tile = 0;
      if (++row_tile == row_tiles) {
        row_tile = 0;
        if (++outer < geometry_.outer_count) enter(outer);
      }
    }
  }
}

void TileRunner::run_elements(Range elements, std::span<const Stream> ahead) {
  kept_whole_ = false;
  ahead_ = ahead;
  const std::int64_t line = geometry_.tile_columns;
  if (sum_ == nullptr && by_lines()) {
    const Range lines{elements.begin / line, elements.end / line};
    if (lines.begin * line == elements.begin && lines.end * line == elements.end) return call_lines(lines);
  }
  const std::int64_t columns = geometry_.columns, rows = geometry_.rows;
  std::int64_t column = elements.begin % columns;
  std::int64_t outer = elements.begin / columns, row = 0;
  if (rows != 1) {
    row = outer % rows;
    outer /= rows;
  }
  enter(outer);
  std::int64_t widest = 0;
  for (std::int64_t at = elements.begin; at < elements.end;) {
    const std::int64_t left = elements.end - at;
    passed_ = at - elements.begin;
    Extent extent{std::min({geometry_.tile_columns, columns - column, left}), 1};
    if (extent.columns == columns) extent.rows = std::min({geometry_.tile_rows, rows - row, left / columns});
    const bool same_row = column != 0 && extent.columns <= widest;
    run(row, column, extent, at == elements.begin ? Kept::nothing : same_row ? Kept::numbers_and_rows : Kept::numbers);
    if (!same_row) widest = extent.columns;
    at += static_cast<std::int64_t>(extent.count());
    column += extent.columns;
    if (column < columns) continue;
    column = 0;
    row += extent.rows;
    if (row < rows) continue;
    row = 0;
    if (at < elements.end) enter(++outer);
  }
}

void TileRunner::run_lines(Range lines, std::int64_t length, std::span<const Stream> ahead) {
  // Short blocks are over before a division is.
  if (length == geometry_.tile_columns && by_lines()) {
    ahead_ = ahead;
    return call_lines(lines);
  }
  run_elements({lines.begin * length, lines.end * length}, ahead);
}

void TileRunner::sum_elements(Range elements, double* sum) {
  sum_ = sum;
  run_elements(elements);
  sum_ = nullptr;
}

void TileRunner::sum_lines(Range lines, std::int64_t length, double* sums) {
  if (by_lines() && geometry_.tile_columns == length) {
    each_line(lines, [&](std::int64_t line, void* const*, const void* const* leaves) {
      program_.sum.add(leaves, static_cast<std::size_t>(length), sums + (line - lines.begin));
    });
    return;
  }
  for (std::int64_t line = lines.begin; line < lines.end; ++line) {
    sum_elements({line * length, (line + 1) * length}, sums + (line - lines.begin));
  }
}

}  // namespace tyto::cpu
