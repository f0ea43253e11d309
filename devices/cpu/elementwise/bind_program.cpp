// Settles, when a kernel is made, where each register of a tile program lives and which loops are called.
#include <algorithm>
#include <bit>
#include <optional>

#include "devices/cpu/elementwise/bound_program.hpp"
#include "engine/core/text.hpp"

namespace tyto::cpu {

namespace {

constexpr std::size_t most_registers = TileProgram::most_registers, most_operands = TileProgram::most_operands;

constexpr std::size_t tile_memory_wanted = 24 * 1024;
constexpr std::int64_t longest_tile = 1024, shortest_tile = 16;
/// Of programs of several loops. While the last loops of a short tile run, the processor brings the operands of the
/// next one; where loops take longer than memory does, fewer calls are worth more.
constexpr std::int64_t usual_tile = 256, long_running_tile = 512;
constexpr double long_running_nanoseconds = 1;

std::size_t index_of(DType type) { return static_cast<std::size_t>(type); }
std::size_t width_index(DType type) { return static_cast<std::size_t>(std::countr_zero(size_of(type))); }

/// Settles where each register lives. Tiles are handed out while the program is followed and returned after the last
/// use, so that a long program needs few of them.
class Binding {
 public:
  Binding(const TileProgram& program, std::span<const core::Operand> inputs, std::span<const core::Operand> outputs,
          const TileLoops& loops, std::int64_t tile, bool row_major, bool uncached, bool summed)
      : program_(program), inputs_(inputs), outputs_(outputs), loops_(loops), uncached_(uncached) {
    result_.geometry = cut_into_tiles(inputs, outputs, tile, row_major);
    calls_ = summed ? summing_calls(program, numbers(), loops) : loop_calls(program, numbers(), loops);
    if (summed && calls_.empty()) return;
    result_.output_width = size_of(outputs[0].dtype);
    result_.inputs = inputs.size();
    result_.tiles.assign(program.registers.size(), BoundProgram::elsewhere);
    direct_.assign(program.registers.size(), false);
    recycled_.assign(program.registers.size(), false);
    tile_elements_ = static_cast<std::size_t>(result_.geometry.tile_columns * result_.geometry.tile_rows);
    find_last_uses();
    choose_direct_inputs();
    choose_direct_outputs();
    place_constants();
    place_loads();
    place_instructions();
    if (!summed) place_stores();
    find_lines();
    estimate();
  }

  BoundProgram& result() { return result_; }

 private:
  static constexpr std::size_t never = ~std::size_t{0};

  /// Registers that hold one element, the same all over a tile.
  std::vector<bool> numbers() const {
    std::vector<bool> numbers(program_.registers.size(), false);
    for (const TileProgram::Constant& constant : program_.constants) numbers[constant.result] = true;
    for (const TileProgram::Input& input : program_.inputs) {
      const Place& place = input_place(input.operand);
      numbers[input.result] = place.column == 0 && (result_.geometry.tile_rows == 1 || place.row == 0);
    }
    return numbers;
  }

  void find_last_uses() {
    wide_.assign(program_.registers.size(), false);
    for (const TileProgram::Output& output : program_.outputs) wide_[output.source] = true;
    for (const LoopCall& call : calls_) {
      for (std::size_t k = 0; k < call.operands.size(); ++k) {
        if (!call.numbers[k]) wide_[call.operands[k]] = true;
      }
    }
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

  /// Memory is read where it lies if it is the tile, or its first element is all that anybody wants.
  bool is_read_in_place(const TileProgram::Input& input) const {
    const DType stored = inputs_[static_cast<std::size_t>(input.operand)].dtype;
    if (stored != program_.registers[input.result]) return false;
    return !wide_[input.result] || result_.geometry.contiguous(input_place(input.operand), width_of(stored));
  }

  void choose_direct_inputs() {
    for (const TileProgram::Input& input : program_.inputs) direct_[input.result] = is_read_in_place(input);
  }

  /// The inputs that are read in memory after the call that makes the value, to be computed with or copied; none where
  /// no call makes it.
  std::optional<std::uint64_t> read_after(TileProgram::Register made) const {
    std::optional<std::uint64_t> read;
    for (const LoopCall& call : calls_) {
      for (const TileProgram::Input& input : program_.inputs) {
        const bool reads = std::ranges::find(call.operands, input.result) != call.operands.end();
        if (read && reads && direct_[input.result]) *read |= std::uint64_t{1} << input.operand;
      }
      if (call.makes(made)) read = 0;
    }
    for (const TileProgram::Input& input : program_.inputs) {
      const bool copied =
          std::ranges::find(program_.outputs, input.result, &TileProgram::Output::source) != program_.outputs.end();
      if (read && copied && direct_[input.result]) *read |= std::uint64_t{1} << input.operand;
    }
    return read;
  }

  /// An instruction writes straight to the output, unless later ones read operands in memory over which it turns out to
  /// lie.
  void choose_direct_outputs() {
    for (const TileProgram::Output& output : program_.outputs) {
      const DType stored = outputs_[static_cast<std::size_t>(output.operand)].dtype;
      const bool fits = stored == program_.registers[output.source] && !direct_[output.source] &&
                        result_.geometry.contiguous(output_place(output.operand), width_of(stored));
      std::optional<std::uint64_t> read = read_after(output.source);
      // A plain copy gathers into the output.
      if (program_.instructions.empty() && program_.inputs.size() == 1 && program_.outputs.size() == 1) {
        if (!repeats(input_place(program_.inputs[0].operand))) read = 0;
      }
      for (std::size_t i = 0; i < direct_output_.size(); ++i) {
        if (program_.outputs[i].source == output.source && direct_output_[i]) read.reset();  // it has its place
      }
      if (!fits) read.reset();
      if (read == 0) direct_[output.source] = true;
      direct_output_.push_back(read);
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
    if (staging_ == BoundProgram::elsewhere) staging_ = reserve(tile_elements_ * sizeof(double));
    return staging_;
  }

  /// A register of which nobody reads more than one element needs no more.
  void give_element(TileProgram::Register value) { result_.tiles[value] = reserve(size_of(program_.registers[value])); }

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
      Constant placed{constant.result, !wide_[constant.result], 0, loops_.gather[width_index(type)]};
      if (constant.value.is_floating()) {
        const double value = constant.value.as_double();
        loops_.convert[index_of(DType::f64)][index_of(type)](&placed.bits, &value, nullptr, nullptr, 1);
      } else {
        const std::int64_t value = constant.value.as_int();
        loops_.convert[index_of(DType::i64)][index_of(type)](&placed.bits, &value, nullptr, nullptr, 1);
      }
      if (placed.single) give_element(constant.result);
      else give_tile(constant.result);
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
      if (is_read_in_place(input)) {
        load.form = Load::Form::direct;
      } else if (!result_.geometry.contiguous(place, width_of(stored))) {
        const bool turned = result_.geometry.transposed(place, width_of(stored));
        load.form = turned ? Load::Form::turn : Load::Form::gather;
        if (load.convert != nullptr) load.staging = staging();
      } else {
        load.form = Load::Form::convert;
      }
      load.once = load.form != Load::Form::direct && result_.geometry.same_in_all_tiles(place);
      load.number = load.once && place.row == 0 && place.column == 0;
      load.single = load.form != Load::Form::direct && !wide_[input.result];
      load.per_row = load.form == Load::Form::gather && !load.once && repeats(place);
      if (load.single) give_element(input.result);
      else if (!direct_[input.result]) give_tile(input.result);
      recycled_[input.result] = !direct_[input.result] && !load.single && !load.once && !load.per_row;
      result_.loads.push_back(load);
    }
  }

  /// Calls write whole cache lines for the most part. Those of short rows that begin and end within lines would not.
  bool fills_lines() const {
    constexpr std::size_t many = 512, half_a_line = 8;
    return uncached_ && (tile_elements_ >= many || tile_elements_ % half_a_line == 0);
  }

  void place_instructions() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const LoopCall& call = calls_[i];
      for (const TileProgram::Register operand : call.operands) {
        if (last_use_[operand] != i || !recycled_[operand]) continue;
        recycled_[operand] = false;
        spare_[width_index(program_.registers[operand])].push_back(result_.tiles[operand]);
      }
      for (const TileProgram::Register result : call.results()) {
        if (direct_[result] || call.sum != nullptr) continue;
        give_tile(result);
        recycled_[result] = true;
      }
      result_.nanoseconds += call.nanoseconds;
      if (call.sum != nullptr) result_.sum = {call.sum, call.operands};
      else
        result_.instructions.push_back(
            {call.loop, call.chain, fills_lines() ? call.uncached : nullptr, call.result_list, call.operands});
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
        store.read_later = *direct_output_[i];
      } else if (!result_.geometry.contiguous(output_place(output.operand), width_of(stored))) {
        store.form = Store::Form::scatter;
        if (type == stored) store.convert = nullptr;
        else store.staging = staging();
      }
      result_.stores.push_back(store);
    }
    // What is copied from an operand's memory is so before other results may be laid over it.
    std::stable_partition(result_.stores.begin(), result_.stores.end(), [&](const Store& store) {
      return std::ranges::any_of(program_.inputs, [&](const auto& input) { return input.result == store.value; });
    });
  }

  void find_lines() {
    if (calls_.size() != 1 || !result_.geometry.has_lines()) return;
    const auto is_direct = [](const auto& moved) { return moved.form == std::decay_t<decltype(moved)>::Form::direct; };
    if (!std::ranges::all_of(result_.loads, is_direct) || !std::ranges::all_of(result_.stores, is_direct)) return;
    const LoopCall& call = calls_[0];
    Lines lines;
    lines.apply = true;
    lines.in_a_row = result_.geometry.lines_in_a_row();
    lines.all_in_a_row = lines.in_a_row == result_.geometry.tiles();
    const auto moved = [&](std::size_t slot, std::size_t place) {
      return Lines::Moved{static_cast<std::uint16_t>(slot), static_cast<std::uint16_t>(place),
                          result_.geometry.line_distance(result_.geometry.places[place])};
    };
    for (std::size_t k = 0; k < call.operands.size(); ++k) {
      const auto load = std::ranges::find(result_.loads, call.operands[k], &Load::value);
      if (!call.used[k] || load == result_.loads.end()) continue;
      lines.operands.push_back(moved(k, load->operand));
    }
    for (std::size_t k = 0; k < call.result_count && call.sum == nullptr; ++k) {
      const auto store = std::ranges::find(result_.stores, call.result_list[k], &Store::value);
      if (store == result_.stores.end()) return;
      lines.results.push_back(moved(k, result_.inputs + store->operand));
    }
    result_.lines = std::move(lines);
  }

  void estimate() {
    const TileGeometry& geometry = result_.geometry;
    const auto elements = static_cast<double>(geometry.elements);
    double bytes = 0;  // moved an element
    const auto moved = [&](const core::Operand& operand, const Place& place) {
      if (!geometry.same_in_all_tiles(place)) bytes += static_cast<double>(size_of(operand.dtype));
      // An element that is repeated is not gathered one by one.
      if (place.column != 0 && !geometry.contiguous(place, width_of(operand.dtype))) result_.nanoseconds += 0.3;
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i) moved(inputs_[i], geometry.places[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) moved(outputs_[i], geometry.places[inputs_.size() + i]);
    // A few hundred kilobytes come from the L2 cache, more from L3.
    constexpr double near_bytes = 512 * 1024, nanoseconds_a_near_byte = 0.01, nanoseconds_a_byte = 0.04;
    result_.nanoseconds += bytes * (bytes * elements < near_bytes ? nanoseconds_a_near_byte : nanoseconds_a_byte);
    result_.nanoseconds *= elements;
  }

  const TileProgram& program_;
  std::vector<LoopCall> calls_;
  std::span<const core::Operand> inputs_, outputs_;
  const TileLoops& loops_;
  bool uncached_;
  BoundProgram result_;
  std::size_t tile_elements_ = 0;
  std::uint32_t staging_ = BoundProgram::elsewhere;
  std::vector<std::size_t> last_use_;
  std::vector<bool> direct_;    // registers whose tile is an operand's memory
  std::vector<bool> recycled_;  // registers whose tile is free after their last use
  std::vector<bool> wide_;      // registers of which some call reads more than one element
  /// By output: whether an instruction may write there itself, and what of inputs is read after that.
  std::vector<std::optional<std::uint64_t>> direct_output_;
  std::array<std::vector<std::uint32_t>, element_widths> spare_;
};

std::int64_t tile_of_several(const TileProgram& program) {
  return nanoseconds_of(program) < long_running_nanoseconds ? usual_tile : long_running_tile;
}

/// Tiles of several rows repeat a number that each row has of its own. Where one loop reads it as a number, and rows
/// are not too short, they had better be lines.
bool rows_may_be_lines(const TileGeometry& geometry, std::size_t inputs) {
  constexpr std::int64_t shortest_line = 20;
  if (geometry.tile_rows == 1 || geometry.columns < shortest_line) return false;
  return std::any_of(geometry.places.begin(), geometry.places.begin() + static_cast<std::ptrdiff_t>(inputs),
                     [](const Place& place) { return place.column == 0 && place.row != 0; });
}

}  // namespace

BoundProgram bind_program(const TileProgram& program, std::span<const core::Operand> inputs,
                          std::span<const core::Operand> outputs, const TileLoops& loops, bool row_major,
                          bool uncached) {
  if (program.registers.size() > most_registers || std::max(inputs.size(), outputs.size()) > most_operands) {
    throw DeviceError(core::text("cpu: an element-wise program may have ", most_registers, " registers, ",
                                 most_operands, " inputs and as many outputs, this one has ", program.registers.size(),
                                 ", ", inputs.size(), " and ", outputs.size()));
  }
  // One loop passes nothing on to another, so that its tiles may be longer.
  bool one_loop = program.instructions.size() <= 1;
  for (std::int64_t tile = one_loop ? longest_tile : tile_of_several(program);; tile /= 2) {
    Binding binding(program, inputs, outputs, loops, tile, row_major, uncached, false);
    const TileGeometry& geometry = binding.result().geometry;
    if (rows_may_be_lines(geometry, inputs.size())) {
      Binding lines(program, inputs, outputs, loops, geometry.columns, row_major, uncached, false);
      if (lines.result().lines.apply) return lines.result();
    }
    if (!one_loop && binding.result().instructions.size() <= 1) {
      one_loop = true;
      tile = 2 * longest_tile;
      continue;
    }
    if (binding.result().memory <= tile_memory_wanted || tile <= shortest_tile) return binding.result();
  }
}

BoundProgram bind_sum(const TileProgram& program, std::span<const core::Operand> inputs, const core::Operand& output,
                      const TileLoops& loops, std::int64_t length) {
  // Tiles end where a line ends or where sums of its parts are joined, whatever the instruction set.
  constexpr std::int64_t part = 4096;
  Binding binding(program, inputs, {&output, 1}, loops, std::clamp(length, shortest_tile, part), true, false, true);
  BoundProgram& result = binding.result();
  if (length < shortest_tile || result.geometry.columns % length != 0 || result.memory > tile_memory_wanted)
    result.sum = {};
  return result;
}

}  // namespace tyto::cpu
