// SPDX-License-Identifier: MIT
// Settles, when a kernel is made, where each register of a tile program lives and which loops are called.
#include <algorithm>
#include <bit>
#include <optional>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/loop/interpreter/bound_program.hpp"
#include "devices/cpu/loop/interpreter/find_loop.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

constexpr std::size_t tile_memory_wanted = 3 * machine::first_level_cache / 4;
/// Tiles of programs of one loop, of several, and the shortest.
constexpr std::int64_t longest_tile = 1024, usual_tile = 256, shortest_tile = 16;
/// Rough costs on one thread.
constexpr double nanoseconds_an_instruction = 0.3;

std::size_t index_of(DType type) { return static_cast<std::size_t>(type); }

/// Settles where each register lives. Tiles are handed out while the program is followed and returned after the last
/// use, so that a long program needs few of them.
class Binding {
 public:
  Binding(const TileProgram& program, std::span<const core::Operand> inputs, std::span<const core::Operand> outputs,
          const TileLoops& loops, std::int64_t tile, bool row_major)
      : program_(program), inputs_(inputs), outputs_(outputs), loops_(loops) {
    result_.geometry = cut_into_tiles(inputs, outputs, tile, row_major);
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
    place_stores();
    estimate();
  }

  BoundProgram& result() { return result_; }

 private:
  static constexpr std::size_t never = ~std::size_t{0};

  void find_last_uses() {
    last_use_.assign(program_.registers.size(), 0);
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      for (const TileProgram::Register operand : program_.instructions[i].operands) last_use_[operand] = i;
    }
    for (const TileProgram::Output& output : program_.outputs) last_use_[output.source] = never;
  }

  const OperandLayout& input_layout(int operand) const {
    return result_.geometry.layouts[static_cast<std::size_t>(operand)];
  }
  const OperandLayout& output_layout(int operand) const {
    return result_.geometry.layouts[inputs_.size() + static_cast<std::size_t>(operand)];
  }
  static std::ptrdiff_t width_of(DType type) { return static_cast<std::ptrdiff_t>(size_of(type)); }

  /// Memory is read where it lies if it is the tile.
  bool is_read_in_place(const TileProgram::Input& input) const {
    const DType stored = inputs_[static_cast<std::size_t>(input.operand)].dtype;
    if (stored != program_.registers[input.result]) return false;
    return result_.geometry.contiguous(input_layout(input.operand), width_of(stored));
  }

  void choose_direct_inputs() {
    for (const TileProgram::Input& input : program_.inputs) direct_[input.result] = is_read_in_place(input);
  }

  /// The inputs that are read in memory after the instruction that makes the value, to be computed with or copied; none
  /// where no instruction makes it.
  std::optional<std::uint64_t> read_after(TileProgram::Register made) const {
    std::optional<std::uint64_t> read;
    for (const TileProgram::Instruction& each : program_.instructions) {
      for (const TileProgram::Input& input : program_.inputs) {
        const bool reads = std::ranges::find(each.operands, input.result) != each.operands.end();
        if (read && reads && direct_[input.result]) *read |= std::uint64_t{1} << input.operand;
      }
      if (each.result == made) read = 0;
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
                        result_.geometry.contiguous(output_layout(output.operand), width_of(stored));
      std::optional<std::uint64_t> read = read_after(output.source);
      // A plain copy gathers into the output.
      if (program_.instructions.empty() && program_.inputs.size() == 1 && program_.outputs.size() == 1) {
        if (!repeats(input_layout(program_.inputs[0].operand))) read = 0;
      }
      for (std::size_t i = 0; i < direct_output_.size(); ++i) {
        if (program_.outputs[i].source == output.source && direct_output_[i]) read.reset();  // it has its place
      }
      if (!fits) read.reset();
      if (read == 0) direct_[output.source] = true;
      direct_output_.push_back(read);
    }
  }

  bool repeats(const OperandLayout& layout) const {
    const TileGeometry& geometry = result_.geometry;
    return geometry.same_in_all_tiles(layout) || (geometry.same_along_row(layout) && geometry.column_tiles > 1);
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
      placed.bits = element_bits(loops_, constant.value, type);
      give_tile(constant.result);
      result_.constants.push_back(placed);
    }
  }

  void place_loads() {
    for (const TileProgram::Input& input : program_.inputs) {
      const DType stored = inputs_[static_cast<std::size_t>(input.operand)].dtype;
      const DType type = program_.registers[input.result];
      const OperandLayout& layout = input_layout(input.operand);
      Load load;
      load.value = input.result;
      load.operand = static_cast<std::uint16_t>(input.operand);
      load.width = static_cast<std::uint32_t>(size_of(stored));
      load.gather = loops_.gather[width_index(stored)];
      load.transpose = loops_.transpose[width_index(stored)];
      if (stored != type) load.convert = loops_.convert[index_of(stored)][index_of(type)];
      if (is_read_in_place(input)) {
        load.form = Load::Form::direct;
      } else if (!result_.geometry.contiguous(layout, width_of(stored))) {
        const bool turned = result_.geometry.transposed(layout, width_of(stored));
        load.form = turned ? Load::Form::transpose : Load::Form::gather;
        if (load.convert != nullptr) load.staging = staging();
      } else {
        load.form = Load::Form::convert;
      }
      load.once = load.form != Load::Form::direct && result_.geometry.same_in_all_tiles(layout);
      load.number = load.once && layout.row == 0 && layout.column == 0;
      load.per_row = load.form == Load::Form::gather && !load.once && repeats(layout);
      if (!direct_[input.result]) give_tile(input.result);
      recycled_[input.result] = !direct_[input.result] && !load.once && !load.per_row;
      result_.loads.push_back(load);
    }
  }

  TileLoop loop_of(const TileProgram::Instruction& each) const {
    const DType type = program_.registers[each.operands[2]];
    if (each.op == core::OpId::cast) return loops_.convert[index_of(type)][index_of(program_.registers[each.result])];
    return find_loop(loops_, each.op, type);
  }

  void place_instructions() {
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      const TileProgram::Instruction& each = program_.instructions[i];
      for (const TileProgram::Register operand : each.operands) {
        if (last_use_[operand] != i || !recycled_[operand]) continue;
        recycled_[operand] = false;
        spare_[width_index(program_.registers[operand])].push_back(result_.tiles[operand]);
      }
      if (!direct_[each.result]) {
        give_tile(each.result);
        recycled_[each.result] = true;
      }
      result_.nanoseconds += nanoseconds_an_instruction;
      result_.instructions.push_back({loop_of(each), each.result, each.operands});
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
      } else if (!result_.geometry.contiguous(output_layout(output.operand), width_of(stored))) {
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

  void estimate() {
    const TileGeometry& geometry = result_.geometry;
    const auto elements = static_cast<double>(geometry.elements);
    double bytes = 0;  // moved an element
    const auto moved = [&](const core::Operand& operand, const OperandLayout& layout) {
      if (!geometry.same_in_all_tiles(layout)) bytes += static_cast<double>(size_of(operand.dtype));
      // An element that is repeated is not gathered one by one.
      if (layout.column != 0 && !geometry.contiguous(layout, width_of(operand.dtype))) result_.nanoseconds += 0.3;
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i) moved(inputs_[i], geometry.layouts[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) moved(outputs_[i], geometry.layouts[inputs_.size() + i]);
    result_.nanoseconds = result_.nanoseconds * elements + machine::nanoseconds_to_move(bytes * elements);
  }

  const TileProgram& program_;
  std::span<const core::Operand> inputs_, outputs_;
  const TileLoops& loops_;
  BoundProgram result_;
  std::size_t tile_elements_ = 0;
  std::uint32_t staging_ = BoundProgram::elsewhere;
  std::vector<std::size_t> last_use_;
  std::vector<bool> direct_;    // registers whose tile is an operand's memory
  std::vector<bool> recycled_;  // registers whose tile is free after their last use
  /// By output: whether an instruction may write there itself, and what of inputs is read after that.
  std::vector<std::optional<std::uint64_t>> direct_output_;
  std::array<std::vector<std::uint32_t>, element_widths> spare_;
};

}  // namespace

BoundProgram bind_program(const TileProgram& program, std::span<const core::Operand> inputs,
                          std::span<const core::Operand> outputs, const TileLoops& loops, bool row_major) {
  const bool one_loop = program.instructions.size() <= 1;
  for (std::int64_t tile = one_loop ? longest_tile : usual_tile;; tile /= 2) {
    Binding binding(program, inputs, outputs, loops, tile, row_major);
    if (binding.result().memory <= tile_memory_wanted || tile <= shortest_tile) return std::move(binding.result());
  }
}

}  // namespace tyto::cpu
