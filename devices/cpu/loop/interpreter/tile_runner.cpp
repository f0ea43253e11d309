// SPDX-License-Identifier: MIT
// Runs a launch: loads operands into tiles, calls the compiled loops, and stores results.
#include "devices/cpu/loop/interpreter/tile_runner.hpp"

#include <algorithm>

namespace tyto::cpu {

void TileRunner::fetch(const Load& load, const OperandLayout& layout, const std::byte* from, void* tile,
                       std::byte* memory, Extent extent) {
  const std::size_t count = extent.count();
  if (load.form == Load::Form::convert) {
    load.convert(tile, from, nullptr, nullptr, count);
    return;
  }
  std::byte* to = load.convert != nullptr ? memory + load.staging : static_cast<std::byte*>(tile);
  if (load.form == Load::Form::transpose) {
    const auto columns = static_cast<std::size_t>(extent.columns);
    load.transpose(to, columns, from, layout.column, static_cast<std::size_t>(extent.rows), columns);
  } else if (extent.rows == 1 || (layout.row == 0 && layout.column == 0)) {
    load.gather(to, from, layout.column, count);
  } else {
    const auto columns = static_cast<std::size_t>(extent.columns);
    for (std::int64_t row = 0; row < extent.rows; ++row) {
      load.gather(to + static_cast<std::size_t>(row) * columns * load.width, from + row * layout.row, layout.column,
                  columns);
    }
  }
  if (load.convert != nullptr) load.convert(tile, to, nullptr, nullptr, count);
}

void TileRunner::put(const Store& store, const OperandLayout& layout, std::byte* to, const void* value,
                     std::byte* memory, Extent extent) {
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
    store.scatter(to + row * layout.row, from + static_cast<std::size_t>(row) * columns * store.width, layout.column,
                  columns);
  }
}

TileRunner::TileRunner(const BoundProgram& program, Addresses inputs, Addresses outputs) : TileRunner(program) {
  for (std::size_t i = 0; i < operands(); ++i) {
    const core::Address& address = i < program.inputs ? inputs[i] : outputs[i - program.inputs];
    starts_[i] = address.pointer();
  }
  choose_by_starts();
}

TileRunner::TileRunner(const BoundProgram& program) : program_(program), geometry_(program.geometry) {
  for (std::size_t i = 0; i < program.tiles.size(); ++i) {
    if (program.tiles[i] != BoundProgram::elsewhere) values_[i] = memory_ + program.tiles[i];
  }
  for (const Constant& constant : program.constants) {
    constant.fill(values_[constant.value], &constant.bits, 0, whole().count());
  }
}

void TileRunner::run_columns(Range lines, Range columns, std::int64_t length) {
  if (columns.size() == length) return run_elements({lines.begin * length, lines.end * length});
  for (std::int64_t line = lines.begin; line < lines.end; ++line)
    run_elements({line * length + columns.begin, line * length + columns.end});
}

void TileRunner::choose_by_starts() {
  in_place_ = 0;
  for (std::size_t i = 0; i < program_.stores.size(); ++i) {
    const Store& store = program_.stores[i];
    if (store.form != Store::Form::direct) continue;
    bool apart = true;
    for (std::size_t input = 0; input < program_.inputs && store.read_later >> input != 0; ++input) {
      const bool read = (store.read_later >> input & 1u) != 0;
      apart = apart && !(read && first(input) == first(program_.inputs + store.operand));
    }
    if (apart) in_place_ |= std::uint64_t{1} << i;
    else values_[store.value] = memory_ + program_.tiles[store.value];
  }
}

/// Turns to an index of the outer axes.
void TileRunner::enter(std::int64_t index) {
  for (std::size_t i = 0; i < operands(); ++i) cursors_[i] = first(i);
  for (std::size_t axis = geometry_.outer.size(); axis-- > 0;) {
    // Divisions are slow, and most often there is one axis, entered for every row.
    const std::int64_t position = axis == 0 ? index : index % geometry_.outer[axis];
    if (axis != 0) index /= geometry_.outer[axis];
    for (std::size_t i = 0; i < operands(); ++i) cursors_[i] += position * geometry_.layouts[i].outer[axis];
  }
}

/// The elements from (row, column) of the present outer index on.
void TileRunner::run(std::int64_t row, std::int64_t column, Extent extent, Kept kept) {
  const auto at = [&](std::size_t operand, const OperandLayout& layout) {
    return cursors_[operand] + row * layout.row + column * layout.column;
  };
  const auto in_place = [&](std::size_t store) { return (in_place_ >> store & 1u) != 0; };
  for (std::size_t i = 0; i < program_.stores.size(); ++i) {
    if (!in_place(i)) continue;
    const Store& store = program_.stores[i];
    values_[store.value] = at(program_.inputs + store.operand, program_.layout(store));
  }
  for (const Load& load : program_.loads) {
    const OperandLayout& layout = program_.layout(load);
    std::byte* from = at(load.operand, layout);
    if (load.form == Load::Form::direct) {
      values_[load.value] = from;
    } else if ((kept.numbers && load.number) || (kept.row && load.per_row) || (kept.rows && load.once)) {
      continue;
    } else {
      const bool wide = load.number || (load.once && extent.columns == geometry_.columns);
      fetch(load, layout, from, values_[load.value], memory_, wide ? whole() : extent);
    }
  }
  for (const Instruction& instruction : program_.instructions) {
    instruction.loop(values_[instruction.result], values_[instruction.operands[0]], values_[instruction.operands[1]],
                     values_[instruction.operands[2]], extent.count());
  }
  for (std::size_t i = 0; i < program_.stores.size(); ++i) {
    if (in_place(i)) continue;
    const Store& store = program_.stores[i];
    const OperandLayout& layout = program_.layout(store);
    put(store, layout, at(program_.inputs + store.operand, layout), values_[store.value], memory_, extent);
  }
}

void TileRunner::run_elements(Range elements) {
  const std::int64_t columns = geometry_.columns, rows = geometry_.rows;
  std::int64_t column = 0, row = 0, outer = 0;
  if (elements.begin != 0) {
    column = elements.begin % columns;
    row = elements.begin / columns % rows;
    outer = elements.begin / columns / rows;
  }
  enter(outer);
  Kept kept;
  for (std::int64_t left = elements.size(); left > 0;) {
    const std::int64_t end = std::min(columns, column + left);
    const bool whole_rows = end - column == columns;
    const std::int64_t height =
        whole_rows && geometry_.tile_rows > 1 ? std::min({geometry_.tile_rows, rows - row, left / columns}) : 1;
    left -= (end - column) * height;
    kept.rows = kept.rows && whole_rows;
    for (kept.row = false; column < end; column += geometry_.tile_columns) {
      run(row, column, {std::min(geometry_.tile_columns, end - column), height}, kept);
      kept.numbers = kept.row = true;
    }
    kept.rows = whole_rows;
    column = 0;
    row += height;
    if (row < rows) continue;
    row = 0;
    if (left > 0) enter(++outer);
  }
}

}  // namespace tyto::cpu
