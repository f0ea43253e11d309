// The interpreter of tile programs: where each register lives is settled at prepare; a launch walks tiles.
#include "devices/cpu/elementwise/tile_kernel.hpp"

#include <bit>

#include "devices/cpu/elementwise/loop_calls.hpp"
#include "devices/cpu/elementwise/tile_geometry.hpp"
#include "devices/cpu/elementwise/tile_loops.hpp"
#include "devices/cpu/kernels.hpp"
#include "devices/cpu/threads.hpp"
#include "engine/core/text.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;
constexpr std::size_t most_registers = TileProgram::most_registers, most_operands = TileProgram::most_operands;

/// Tiles live on the stack of the thread that works on them. What is touched should stay well inside the L1 cache.
constexpr std::size_t tile_memory = 64 * 1024;
constexpr std::size_t tile_memory_wanted = 24 * 1024;
constexpr std::int64_t longest_tile = 1024, usual_tile = 256, shortest_tile = 16;

std::size_t index_of(DType type) { return static_cast<std::size_t>(type); }
std::size_t width_index(DType type) { return static_cast<std::size_t>(std::countr_zero(size_of(type))); }

/// Elements of an input brought into a tile before the instructions run.
struct Load {
  enum class Form : std::uint8_t {
    direct,   // the operand's memory is the tile
    convert,  // contiguous, but of another type
    gather,   // strided; then converted where the type differs
    turn,     // as gather, but memory runs along the tile's columns
  };
  Form form = Form::direct;
  bool once = false;     // the same in all tiles
  bool per_row = false;  // the same along a row: one element repeated
  bool number = false;   // one element repeated everywhere
  std::uint16_t value = 0;
  std::uint16_t operand = 0;
  std::uint32_t staging = 0;  // where it is gathered before it is converted
  std::uint32_t width = 0;    // bytes of an element as stored
  TileLoop convert = nullptr;
  StridedLoop gather = nullptr;
  TransposeLoop transpose = nullptr;
};

struct Instruction {
  TileLoop loop;
  std::uint16_t result, a, b, c;
};

/// A register written to an output after the instructions have run.
struct Store {
  enum class Form : std::uint8_t {
    direct,   // the instruction wrote there itself
    convert,  // contiguous: converted, or copied, into place
    scatter,  // strided: converted where the type differs, then scattered
  };
  Form form = Form::convert;
  std::uint16_t value = 0;
  std::uint16_t operand = 0;
  std::uint32_t staging = 0;
  std::uint32_t width = 0;
  TileLoop convert = nullptr;
  StridedLoop scatter = nullptr;
};

/// A register with a tile of its own, filled before the first tile.
struct Constant {
  std::uint16_t value;
  std::uint64_t bits;
  StridedLoop fill;
};

/// A program bound to layouts and loops: all that a launch reads.
struct Prepared {
  static constexpr std::uint32_t elsewhere = ~std::uint32_t{0};

  TileGeometry geometry;
  std::vector<Load> loads;
  std::vector<Constant> constants;
  std::vector<Instruction> instructions;
  std::vector<Store> stores;
  std::vector<std::uint32_t> tiles;  // by register: its tile's offset in the thread's memory, or elsewhere
  std::size_t inputs = 0;
  std::size_t memory = 0;
  std::size_t output_width = 0;  // bytes of an element of the first output
  double nanoseconds = 0;        // of the whole step on one thread

  const Place& place(const Load& load) const { return geometry.places[load.operand]; }
  const Place& place(const Store& store) const { return geometry.places[inputs + store.operand]; }
};

/// The part of a tile that one walk step covers.
struct Extent {
  std::int64_t columns, rows;
  std::size_t count() const { return static_cast<std::size_t>(columns * rows); }
};

void fetch(const Load& load, const Place& place, const std::byte* from, void* tile, std::byte* memory, Extent extent) {
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

void put(const Store& store, const Place& place, std::byte* to, const void* value, std::byte* memory, Extent extent) {
  if (store.form == Store::Form::convert) {
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

/// Runs a program on one thread. Whatever it writes besides the outputs lies in its own frame.
class TileRunner {
 public:
  TileRunner(const Prepared& program, std::span<const core::Address> inputs, std::span<const core::Address> outputs)
      : TileRunner(program) {
    for (std::size_t i = 0; i < operands(); ++i) {
      const core::Address& address = i < program.inputs ? inputs[i] : outputs[i - program.inputs];
      starts_[i] = address.pointer() + geometry_.places[i].start;
    }
  }
  /// The operands' addresses are still to come.
  explicit TileRunner(const Prepared& program) : program_(program), geometry_(program.geometry) {
    for (std::size_t i = 0; i < program.tiles.size(); ++i) {
      if (program.tiles[i] != Prepared::elsewhere) values_[i] = memory_ + program.tiles[i];
    }
    for (const Constant& constant : program.constants) {
      constant.fill(values_[constant.value], &constant.bits, 0, whole().count());
    }
  }

  void move(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) {
    for (std::size_t i = 0; i < operands(); ++i) {
      starts_[i] = (i < program_.inputs ? inputs[i] : outputs[i - program_.inputs]) + geometry_.places[i].start;
    }
  }

  /// Turns to an index of the outer axes.
  void enter(std::int64_t index) {
    for (std::size_t i = 0; i < operands(); ++i) places_[i] = starts_[i];
    for (std::size_t axis = geometry_.outer.size(); axis-- > 0;) {
      const std::int64_t position = index % geometry_.outer[axis];
      index /= geometry_.outer[axis];
      for (std::size_t i = 0; i < operands(); ++i) places_[i] += position * geometry_.places[i].outer[axis];
    }
  }

  /// Which loads may be left as the last tile had them: those that stay the same in all tiles and those that do along
  /// a row, as long as tiles start where the geometry says; in tiles that start anywhere, numbers, and what stays the
  /// same along the row when that is the last tile's and this one no longer.
  enum class Kept : std::uint8_t { nothing, numbers, numbers_and_rows, all_but_rows, all };

  /// The elements from (row, column) of the present outer index on.
  void run(std::int64_t row, std::int64_t column, Extent extent, Kept kept) {
    const auto at = [&](std::size_t operand, const Place& place) {
      return places_[operand] + row * place.row + column * place.column;
    };
    for (const Store& store : program_.stores) {
      if (store.form == Store::Form::direct) {
        values_[store.value] = at(program_.inputs + store.operand, program_.place(store));
      }
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
        fetch(load, place, from, values_[load.value], memory_, wide ? whole() : extent);
      }
    }
    for (const Instruction& instruction : program_.instructions) {
      instruction.loop(values_[instruction.result], values_[instruction.a], values_[instruction.b],
                       values_[instruction.c], extent.count());
    }
    for (const Store& store : program_.stores) {
      if (store.form == Store::Form::direct) continue;
      const Place& place = program_.place(store);
      put(store, place, at(program_.inputs + store.operand, place), values_[store.value], memory_, extent);
    }
  }

  /// A share of the tiles as the geometry numbers them.
  void run_tiles(Range tiles) {
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

  /// Any elements by their numbers in row-major order.
  void run_elements(Range elements) {
    kept_whole_ = false;
    const std::int64_t columns = geometry_.columns, rows = geometry_.rows;
    std::int64_t column = elements.begin % columns;
    std::int64_t row = elements.begin / columns % rows;
    std::int64_t outer = elements.begin / (columns * rows);
    enter(outer);
    std::int64_t widest = 0;
    for (std::int64_t at = elements.begin; at < elements.end;) {
      const std::int64_t left = elements.end - at;
      Extent extent{std::min({geometry_.tile_columns, columns - column, left}), 1};
      if (extent.columns == columns) extent.rows = std::min({geometry_.tile_rows, rows - row, left / columns});
      const bool same_row = column != 0 && extent.columns <= widest;
      run(row, column, extent,
          at == elements.begin ? Kept::nothing
          : same_row           ? Kept::numbers_and_rows
                               : Kept::numbers);
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

 private:
  std::size_t operands() const { return geometry_.places.size(); }
  Extent whole() const { return {geometry_.tile_columns, geometry_.tile_rows}; }

  const Prepared& program_;
  const TileGeometry& geometry_;
  bool kept_whole_ = true;
  alignas(64) std::byte memory_[tile_memory];
  void* values_[most_registers];
  std::byte* starts_[most_operands];  // of the operands
  std::byte* places_[most_operands];  // within the present outer index
};

/// Runs a share of the tiles.
void walk(const Prepared& program, std::span<const core::Address> inputs, std::span<const core::Address> outputs,
          Range tiles) {
  TileRunner(program, inputs, outputs).run_tiles(tiles);
}

/// The only output of a program, computed range by range.
class TileSource final : public ElementSource {
 public:
  explicit TileSource(Prepared program) : program_(std::move(program)) {}

  double nanoseconds() const override { return program_.nanoseconds; }

  void produce(std::span<const core::Address> inputs, Range elements, std::byte* to) const override {
    if (elements.size() <= 0) return;
    // Element 0 would lie where the range's first lies if the tensor were there as a whole.
    const auto width = static_cast<std::uintptr_t>(program_.output_width);
    const auto origin = reinterpret_cast<std::uintptr_t>(to) - static_cast<std::uintptr_t>(elements.begin) * width;
    const core::Address output{reinterpret_cast<void*>(origin), 0};
    TileRunner(program_, inputs, {&output, 1}).run_elements(elements);
  }

 private:
  Prepared program_;
};

class TileRanges final : public RangeProgram {
 public:
  explicit TileRanges(Prepared program) : program_(std::move(program)) {}

  double nanoseconds() const override { return program_.nanoseconds; }

  void with_runner(void (*then)(void* context, RangeRunner& runner), void* context) const override {
    class Runner final : public RangeRunner {
     public:
      explicit Runner(const Prepared& program) : tiles_(program) {}
      void move(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) override {
        tiles_.move(inputs, outputs);
      }
      void run(Range elements) override { tiles_.run_elements(elements); }

     private:
      TileRunner tiles_;
    } runner(program_);
    then(context, runner);
  }

 private:
  Prepared program_;
};

class TileKernel final : public core::Kernel {
 public:
  TileKernel(Prepared program, int threads) : program_(std::move(program)), threads_(threads) {}

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address) const override {
    const std::int64_t tiles = program_.geometry.tiles();
    if (threads_ == 1) {
      walk(program_, inputs, outputs, {0, tiles});
      return;
    }
    run_team(threads_, [&](Team team) {
      const Range mine = share(tiles, team.member, team.size);
      if (mine.size() > 0) walk(program_, inputs, outputs, mine);
    });
  }

 private:
  Prepared program_;
  int threads_;
};

/// One loop over whole contiguous operands: no tiles, no copies.
class LoopKernel final : public core::Kernel {
 public:
  struct Operand {
    std::size_t index = 0;
    std::ptrdiff_t start = 0;
    std::int64_t width = 0;
  };

  LoopKernel(TileLoop loop, std::array<Operand, 3> operands, Operand result, std::int64_t count, int threads)
      : loop_(loop), operands_(operands), result_(result), count_(count), threads_(threads) {}

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address) const override {
    const auto run = [&](Range range) {
      const auto at = [&](std::span<const core::Address> addresses, const Operand& operand) {
        return addresses[operand.index].pointer() + operand.start + range.begin * operand.width;
      };
      loop_(at(outputs, result_), at(inputs, operands_[0]), at(inputs, operands_[1]), at(inputs, operands_[2]),
            static_cast<std::size_t>(range.size()));
    };
    if (threads_ == 1) {
      run({0, count_});
      return;
    }
    // Shares end on cache lines whatever the element, so that no line is written by two threads.
    run_team(threads_, [&](Team team) { run(share(count_, team.member, team.size, 64)); });
  }

 private:
  TileLoop loop_;
  std::array<Operand, 3> operands_;
  Operand result_;
  std::int64_t count_;
  int threads_;
};

/// Settles where each register lives. Tiles are handed out while the program is followed and returned after the last
/// use, so that a long program needs few of them.
class Preparation {
 public:
  Preparation(const TileProgram& program, std::span<const core::Operand> inputs, std::span<const core::Operand> outputs,
              const TileLoops& loops, std::int64_t tile, bool row_major)
      : program_(program), calls_(loop_calls(program, loops)), inputs_(inputs), outputs_(outputs), loops_(loops) {
    result_.geometry = cut_into_tiles(inputs, outputs, tile, row_major);
    result_.output_width = size_of(outputs[0].dtype);
    result_.inputs = inputs.size();
    result_.tiles.assign(program.registers.size(), Prepared::elsewhere);
    direct_.assign(program.registers.size(), false);
    recycled_.assign(program.registers.size(), false);
    tile_elements_ = static_cast<std::size_t>(result_.geometry.tile_columns * result_.geometry.tile_rows);
    find_last_uses();
    choose_direct_inputs();
    choose_direct_outputs();
    place_constants();
    place_loads();
    place_instructions();
    place_stores();
    estimate();
  }

  Prepared& result() { return result_; }

 private:
  static constexpr std::size_t never = ~std::size_t{0};

  void find_last_uses() {
    last_use_.assign(program_.registers.size(), 0);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      for (const TileProgram::Register operand : calls_[i].operands) last_use_[operand] = i;
    }
    for (const TileProgram::Output& output : program_.outputs) last_use_[output.source] = never;
  }

  const Place& input_place(int operand) const { return result_.geometry.places[static_cast<std::size_t>(operand)]; }
  const Place& output_place(int operand) const {
    return result_.geometry.places[inputs_.size() + static_cast<std::size_t>(operand)];
  }
  static std::ptrdiff_t width_of(DType type) { return static_cast<std::ptrdiff_t>(size_of(type)); }

  void choose_direct_inputs() {
    for (const TileProgram::Input& input : program_.inputs) {
      const DType stored = inputs_[static_cast<std::size_t>(input.operand)].dtype;
      direct_[input.result] = stored == program_.registers[input.result] &&
                              result_.geometry.contiguous(input_place(input.operand), width_of(stored));
    }
  }

  /// An instruction may write straight to the output unless a later one still reads operands in memory, over which the
  /// output may lie.
  void choose_direct_outputs() {
    std::size_t last_memory_read = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      for (const TileProgram::Register operand : calls_[i].operands) {
        if (direct_[operand]) last_memory_read = i;
      }
    }
    for (const TileProgram::Output& output : program_.outputs) {
      const DType stored = outputs_[static_cast<std::size_t>(output.operand)].dtype;
      const bool fits = stored == program_.registers[output.source] && !direct_[output.source] &&
                        result_.geometry.contiguous(output_place(output.operand), width_of(stored));
      bool free = false;
      for (std::size_t i = last_memory_read; i < calls_.size(); ++i) free |= calls_[i].result == output.source;
      // A plain copy gathers into the output.
      if (program_.instructions.empty() && program_.inputs.size() == 1 && program_.outputs.size() == 1) {
        free = !repeats(input_place(program_.inputs[0].operand));
      }
      if (fits && free) direct_[output.source] = true;
      direct_output_.push_back(fits && free);
    }
  }

  bool repeats(const Place& place) const {
    const TileGeometry& geometry = result_.geometry;
    return geometry.same_in_all_tiles(place) || (geometry.same_along_row(place) && geometry.column_tiles > 1);
  }

  std::uint32_t reserve(std::size_t bytes) {
    const std::size_t offset = result_.memory;
    result_.memory += (bytes + 63) / 64 * 64;
    return static_cast<std::uint32_t>(offset);
  }

  /// One area serves all conversions: it is in use only within one load or one store.
  std::uint32_t staging() {
    if (staging_ == Prepared::elsewhere) staging_ = reserve(tile_elements_ * sizeof(double));
    return staging_;
  }

  void give_tile(TileProgram::Register value) {
    const std::size_t width = size_of(program_.registers[value]);
    auto& spare = spare_[static_cast<std::size_t>(std::countr_zero(width))];
    if (spare.empty()) {
      result_.tiles[value] = reserve(tile_elements_ * width);
    } else {
      result_.tiles[value] = spare.back();
      spare.pop_back();
    }
  }

  void place_constants() {
    for (const TileProgram::Constant& constant : program_.constants) {
      const DType type = program_.registers[constant.result];
      Constant placed{constant.result, 0, loops_.gather[width_index(type)]};
      if (constant.value.is_floating()) {
        const double value = constant.value.as_double();
        loops_.convert[index_of(DType::f64)][index_of(type)](&placed.bits, &value, nullptr, nullptr, 1);
      } else {
        const std::int64_t value = constant.value.as_int();
        loops_.convert[index_of(DType::i64)][index_of(type)](&placed.bits, &value, nullptr, nullptr, 1);
      }
      give_tile(constant.result);
      result_.constants.push_back(placed);
    }
  }

  void place_loads() {
    for (const TileProgram::Input& input : program_.inputs) {
      const DType stored = inputs_[static_cast<std::size_t>(input.operand)].dtype;
      const DType type = program_.registers[input.result];
      const Place& place = input_place(input.operand);
      Load load;
      load.value = input.result;
      load.operand = static_cast<std::uint16_t>(input.operand);
      load.width = static_cast<std::uint32_t>(size_of(stored));
      load.gather = loops_.gather[width_index(stored)];
      load.transpose = loops_.transpose[width_index(stored)];
      if (stored != type) load.convert = loops_.convert[index_of(stored)][index_of(type)];
      if (!result_.geometry.contiguous(place, width_of(stored))) {
        const bool turned = result_.geometry.transposed(place, width_of(stored));
        load.form = turned ? Load::Form::turn : Load::Form::gather;
        if (load.convert != nullptr) load.staging = staging();
      } else {
        load.form = load.convert != nullptr ? Load::Form::convert : Load::Form::direct;
      }
      load.once = load.form != Load::Form::direct && result_.geometry.same_in_all_tiles(place);
      load.number = load.once && place.row == 0 && place.column == 0;
      load.per_row = load.form == Load::Form::gather && !load.once && repeats(place);
      if (!direct_[input.result]) give_tile(input.result);
      recycled_[input.result] = !direct_[input.result] && !load.once && !load.per_row;
      result_.loads.push_back(load);
    }
  }

  void place_instructions() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const LoopCall& call = calls_[i];
      for (const TileProgram::Register operand : call.operands) {
        if (last_use_[operand] != i || !recycled_[operand]) continue;
        recycled_[operand] = false;
        spare_[width_index(program_.registers[operand])].push_back(result_.tiles[operand]);
      }
      if (!direct_[call.result]) {
        give_tile(call.result);
        recycled_[call.result] = true;
      }
      result_.instructions.push_back({call.loop, call.result, call.operands[0], call.operands[1], call.operands[2]});
      result_.nanoseconds += call.nanoseconds;
    }
  }

  void place_stores() {
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const TileProgram::Output& output = program_.outputs[i];
      const DType stored = outputs_[static_cast<std::size_t>(output.operand)].dtype;
      const DType type = program_.registers[output.source];
      Store store;
      store.value = output.source;
      store.operand = static_cast<std::uint16_t>(output.operand);
      store.width = static_cast<std::uint32_t>(size_of(stored));
      store.scatter = loops_.scatter[width_index(stored)];
      store.convert = loops_.convert[index_of(type)][index_of(stored)];
      if (direct_output_[i]) {
        store.form = Store::Form::direct;
      } else if (!result_.geometry.contiguous(output_place(output.operand), width_of(stored))) {
        store.form = Store::Form::scatter;
        if (type == stored) store.convert = nullptr;
        else store.staging = staging();
      }
      result_.stores.push_back(store);
    }
  }

  void estimate() {
    constexpr double nanoseconds_a_byte = 0.04;  // from the L3 cache
    const TileGeometry& geometry = result_.geometry;
    const auto moved = [&](const core::Operand& operand, const Place& place) {
      if (!geometry.same_in_all_tiles(place)) {
        result_.nanoseconds += nanoseconds_a_byte * static_cast<double>(size_of(operand.dtype));
      }
      if (!geometry.contiguous(place, width_of(operand.dtype))) result_.nanoseconds += 0.3;
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i) moved(inputs_[i], geometry.places[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) moved(outputs_[i], geometry.places[inputs_.size() + i]);
    result_.nanoseconds *= static_cast<double>(geometry.elements);
  }

  const TileProgram& program_;
  std::vector<LoopCall> calls_;
  std::span<const core::Operand> inputs_, outputs_;
  const TileLoops& loops_;
  Prepared result_;
  std::size_t tile_elements_ = 0;
  std::uint32_t staging_ = Prepared::elsewhere;
  std::vector<std::size_t> last_use_;
  std::vector<bool> direct_;         // registers whose tile is an operand's memory
  std::vector<bool> recycled_;       // registers whose tile is free after their last use
  std::vector<bool> direct_output_;  // by output
  std::array<std::vector<std::uint32_t>, element_widths> spare_;
};

/// The loop kernel where the program is one loop over contiguous memory, else null.
std::shared_ptr<const core::Kernel> as_loop(const Prepared& prepared, std::span<const core::Operand> inputs,
                                            std::span<const core::Operand> outputs, int threads) {
  const TileGeometry& geometry = prepared.geometry;
  if (prepared.instructions.size() != 1 || prepared.stores.size() != 1 || !prepared.constants.empty()) return nullptr;
  if (prepared.stores[0].form != Store::Form::direct || geometry.rows != 1 || !geometry.outer.empty()) return nullptr;
  const Instruction& instruction = prepared.instructions[0];
  const std::uint16_t registers[3] = {instruction.a, instruction.b, instruction.c};
  std::array<LoopKernel::Operand, 3> operands;
  for (std::size_t i = 0; i < 3; ++i) {
    for (const Load& load : prepared.loads) {
      if (load.form != Load::Form::direct) return nullptr;
      if (load.value != registers[i]) continue;
      operands[i] = {load.operand, prepared.place(load).start,
                     static_cast<std::int64_t>(size_of(inputs[load.operand].dtype))};
    }
  }
  const Store& store = prepared.stores[0];
  const LoopKernel::Operand result{store.operand, prepared.place(store).start,
                                   static_cast<std::int64_t>(size_of(outputs[store.operand].dtype))};
  return std::make_shared<const LoopKernel>(instruction.loop, operands, result, geometry.elements, threads);
}

}  // namespace

namespace {

/// With tiles as long as the L1 cache lets them be.
Prepared prepare(const TileProgram& program, std::span<const core::Operand> inputs,
                 std::span<const core::Operand> outputs, const TileLoops& loops, bool row_major) {
  if (program.registers.size() > most_registers || inputs.size() + outputs.size() > most_operands) {
    throw DeviceError(core::text("cpu: an element-wise program may have ", most_registers, " registers and ",
                                 most_operands, " operands, this one has ", program.registers.size(), " and ",
                                 inputs.size() + outputs.size()));
  }
  // One loop passes nothing on to another, so that its tiles may be longer.
  const bool one_loop = loop_calls(program, loops).size() <= 1;
  for (std::int64_t tile = one_loop ? longest_tile : usual_tile;; tile /= 2) {
    Preparation preparation(program, inputs, outputs, loops, tile, row_major);
    if (preparation.result().memory <= tile_memory_wanted || tile <= shortest_tile) return preparation.result();
  }
}

}  // namespace

std::shared_ptr<const core::Kernel> prepare_tile_program(const TileProgram& program,
                                                         std::span<const core::Operand> inputs,
                                                         std::span<const core::Operand> outputs,
                                                         const KernelChoice& choice) {
  if (outputs[0].view.count() == 0) {
    return make_kernel([](std::span<const core::Address>, std::span<const core::Address>, core::Address) {});
  }
  Prepared prepared = prepare(program, inputs, outputs, tile_loops(choice.set()), false);
  const int threads = choice.threads > 0 ? choice.threads : threads_for(prepared.nanoseconds);
  if (auto loop = as_loop(prepared, inputs, outputs, threads)) return loop;
  return std::make_shared<const TileKernel>(std::move(prepared), threads);
}

std::shared_ptr<const ElementSource> prepare_source(const TileProgram& program, std::span<const core::Operand> inputs,
                                                    const core::Operand& output, const KernelChoice& choice) {
  return std::make_shared<const TileSource>(prepare(program, inputs, {&output, 1}, tile_loops(choice.set()), true));
}

std::shared_ptr<const RangeProgram> prepare_ranges(const TileProgram& program, std::span<const core::Operand> inputs,
                                                   std::span<const core::Operand> outputs, const KernelChoice& choice) {
  return std::make_shared<const TileRanges>(prepare(program, inputs, outputs, tile_loops(choice.set()), true));
}

}  // namespace tyto::cpu
